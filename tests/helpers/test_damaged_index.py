"""An index whose numbers do not fit together is not used: the files hold the same, and the output says so."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.indexed import Indexed, state, trajectory

DAMAGES = {
    "no version": "DELETE FROM format",
    "another format": "UPDATE format SET version = 99",
    "other tokens": "UPDATE format SET tokens = 'none'",
    "too many states": "UPDATE format SET states = 2000000000",
    "too few states": "UPDATE format SET states = 1",
    "no lengths": "DROP TABLE lengths",
    "short lengths": "UPDATE lengths SET levels = x'00'",
    "no trajectories": "DELETE FROM trajectories",
    "numbers that are none": "UPDATE trajectories SET first = 'x'",
    "numbers below 0": "UPDATE trajectories SET first = -5",
    "a path for a slug": "UPDATE trajectories SET slug = '../../etc'",
    "another haystack": "UPDATE trajectories SET slug = 'other-0123456789' WHERE number = 0",
    "broken postings": "UPDATE terms_data SET block = x'00ff' WHERE id > 100",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    recordings = [trajectory(name, [state("nothing"), state("a needle here")]) for name in ("one", "two")]
    made = Indexed.make(tmp_path_factory.mktemp("damaged"), recordings)
    made.ask("Where is the needle?")
    return made


@pytest.fixture(params=DAMAGES)
def damage(place: Indexed, request: pytest.FixtureRequest) -> Iterator[str]:
    path = (place.root / "haystack" / "index.sqlite").resolve()
    whole = path.read_bytes()
    rewrite(path, whole)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(DAMAGES[request.param])
    yield request.param
    rewrite(path, whole)


def rewrite(path: Path, raw: bytes) -> None:
    path.unlink()
    path.write_bytes(raw)


def test_a_damaged_index_is_not_used(place: Indexed, damage: str) -> None:
    search = place.memory("search", "needle")
    assert (search.code, search.err) == (0, ""), damage
    assert set(search.hits()) >= {("two", 1)}
    where = place.memory("where", "a needle here")
    assert (where.code, where.out.splitlines()[0]) == (0, "# 2 states in 2 trajectories")
    candidates = place.memory("candidates")
    assert (candidates.code, candidates.err) == (0, "")
    assert "searched as written" in candidates.out
    scout = place.scout()
    assert (scout.code, scout.err) == (0, "")
    assert {("one", 1), ("two", 1)} <= set(place.handed_in())
