"""Settings are on record before they run; none is lost and none tried twice."""

from pathlib import Path

import pytest

from evals.tuning.proposals import FILE, Proposals, State
from evals.tuning.space import Range, Space
from evals.tuning.study_file import StudyError

SMALL = Space({"budget": (1, 5, 9), "candidates": (True, False)}, {})


def proposals(folder: Path, space: Space = SMALL) -> Proposals:
    return Proposals(folder, space, ["maximize", "minimize"], seed=0)


def test_a_finite_space_is_tried_whole_and_nothing_twice(tmp_path: Path) -> None:
    found = proposals(tmp_path)
    tried = []
    while (one := found.next()) is not None:
        tried.append((one.setting["budget"], one.setting["candidates"]))
        if one.number % 3:
            found.complete(one.number, [0.5, 1.0])
        else:
            found.stop(one.number, "hopeless")
    assert len(tried) == len(set(tried)) == 6


def test_another_process_knows_what_became_of_each(tmp_path: Path) -> None:
    first = proposals(tmp_path)
    for _ in range(4):
        first.next()
    first.complete(0, [0.5, 1.0])
    first.stop(1, "hopeless after 5")
    first.refuse(2, "they do not fit")
    first.add_seconds(7)
    first.add_seconds(5)
    again = proposals(tmp_path)
    assert [one.state for one in again.all()] == [
        State.COMPLETE,
        State.STOPPED,
        State.REFUSED,
        State.UNDER_WAY,
    ]
    assert again.all()[1].reason == "hopeless after 5"
    assert [one.setting for one in again.all()] == [one.setting for one in first.all()]
    assert again.seconds() == 12
    fifth = again.next()
    assert fifth is not None
    assert fifth.number == 4
    assert fifth.setting not in [one.setting for one in first.all()[:4]]


def test_ranges_keep_to_their_ends_and_steps(tmp_path: Path) -> None:
    space = Space({"budget": Range(low=2, high=10, step=4), "timeout": Range(low=1.0, high=2.0)}, {})
    assert space.size is None
    found = proposals(tmp_path, space)
    for _ in range(6):
        one = found.next()
        assert one is not None
        assert one.setting["budget"] in (2, 6, 10)
        assert 1 <= float(one.setting["timeout"]) <= 2
        found.complete(one.number, [0.1, 1.0])


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    with pytest.raises(StudyError, match=FILE):
        proposals(tmp_path)
