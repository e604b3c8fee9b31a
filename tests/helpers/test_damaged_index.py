"""An index whose numbers do not fit together is not used: the files hold the same, and the output says so."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from helpers.memory import tokens
from manifests.index_format import COUNTS_SIZE, LAYOUT, part_counts
from tests.helpers.indexed import Indexed, rewritten, sealed, state, trajectory

Damage = Callable[[bytes], bytes]


def swapped(old: bytes, new: bytes) -> Damage:
    """Replaces what must be there; the checksum fits again."""

    def change(whole: bytes) -> bytes:
        assert old in whole
        return sealed(whole.replace(old, new))

    return change


def lost_postings(whole: bytes) -> bytes:
    """A part whose postings are all those of a state that does not exist."""
    title = whole.index(b"\n") + 1
    counts = part_counts(whole, title)
    end = counts.lines_at(title + COUNTS_SIZE)
    start = end - 2 * (counts.postings + counts.terms)
    entries = np.frombuffer(whole[start:end], "<u2").copy()
    starts = np.frombuffer(whole[start - 2 * (counts.terms + 1) : start], "<u2")[:-1]
    entries[np.setdiff1d(np.arange(len(entries)), starts)] = 0xFFFF
    return whole[:start] + entries.tobytes() + whole[end:]


# What each leaves of the layout, for two trajectories `one-...` and `two-...` of two states each.
LAYOUTS = {
    "nothing": lambda _: b"",
    "no version": swapped(b"runbook-index", b"runbook"),
    "another format": swapped(b"runbook-index 3 ", b"runbook-index 99 "),
    "other tokens": swapped(f"runbook-index 3 {tokens.VERSION}\n".encode(), b"runbook-index 3 none\n"),
    "a wrong checksum": lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
    "cut off": lambda whole: sealed(whole[:-20]),
    "too many states": swapped(b"\n2 4 0\n", b"\n2 2000000000 0\n"),
    "too few states": swapped(b"\n2 4 0\n", b"\n2 1 0\n"),
    "no trajectories": swapped(b"\n2 4 0\n", b"\n0 0 0\n"),
    "too many trajectories": swapped(b"\n2 4 0\n", b"\n9 4 0\n"),
    "sizes that are none": swapped(b"\n2 4 0\n", b"\n2 x 0\n"),
    "no states": lambda whole: sealed(whole.replace(b"\tsource\n\x02\0\0\0", b"\tsource\n\0\0\0\0")),
    "a path for a slug": swapped(b"one-", b"../../one-"),
    "no counts": lambda whole: sealed(whole.replace(whole[whole.index(b"\tsource\n\x02") + 8 :][:20], b"")),
    "one count less": lambda whole: sealed(whole.replace(b"\tsource\n\x02\0\0\0", b"\tsource\n")),
    "other counts": swapped(b"\tsource\n\x02\0\0\0", b"\tsource\n\x03\0\0\0"),
    "another haystack": swapped(b"one-", b"six-"),
}

# What each leaves of a part.
PARTS = {
    "nothing": lambda _: b"",
    "another format": lambda whole: whole.replace(b"runbook-part 3", b"runbook-part 4"),
    "another slug": lambda whole: whole.replace(b" one-", b" six-"),
    "cut off": lambda whole: whole[:100],
    "postings beyond all states": lost_postings,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    recordings = [trajectory(name, [state("nothing"), state("a needle here")]) for name in ("one", "two")]
    made = Indexed.make(tmp_path_factory.mktemp("damaged"), recordings)
    made.ask("Where is the needle?")
    return made


@pytest.fixture(params=[("layout", name) for name in LAYOUTS] + [("part", name) for name in PARTS], ids=str)
def damage(place: Indexed, request: pytest.FixtureRequest) -> Iterator[str]:
    file, name = request.param
    path = place.index / LAYOUT if file == "layout" else next(place.index.glob("one-*"))
    whole = path.read_bytes()
    rewritten(path, (LAYOUTS if file == "layout" else PARTS)[name](whole))
    yield name
    rewritten(path, whole)


def found_in_files(place: Indexed) -> dict[str, bool]:
    """Which verbs end well, find all there is, and where they should say that the index was not used."""
    (place.root / "memory_module_output.json").unlink(missing_ok=True)
    search, where = place.memory("search", "needle"), place.memory("where", "a needle here")
    candidates, scout = place.memory("candidates"), place.scout()
    calls = (search, where, candidates, scout)
    return {
        "all end well": [(call.code, call.err) for call in calls] == [(0, "")] * len(calls),
        "search": set(search.hits()) >= {("two", 1)},
        "where": where.out.startswith("# 2 states in 2 trajectories\n"),
        "candidates": "searched as written" in candidates.out,
        "scout": {("one", 1), ("two", 1)} <= set(place.handed_in()),
    }


def test_a_damaged_index_is_not_used(place: Indexed, damage: str) -> None:
    assert all(found_in_files(place).values()), (damage, found_in_files(place))


@pytest.mark.parametrize("instead", ["nothing", "a folder"])
def test_a_part_that_is_not_there_is_told(place: Indexed, instead: str) -> None:
    path = next(place.index.glob("two-*"))
    whole = path.read_bytes()
    path.unlink()
    if instead == "a folder":
        path.mkdir()
    found = found_in_files(place)
    if instead == "a folder":
        path.rmdir()
    rewritten(path, whole)
    assert all(found.values()), found


def test_the_undamaged_index_is_used(place: Indexed) -> None:
    assert [name for name, well in found_in_files(place).items() if not well] == ["candidates"]
