"""The time that a run says is left."""

import pytest

from runbook.cli.pace import FEW, Pace


def ended(pace: Pace, *times: float) -> Pace:
    for done, now in enumerate(times, 1):
        pace.note(done, now)
    return pace


def test_a_long_first_wait_is_not_expected_of_all_questions():
    pace = ended(Pace(100, 0.0), *(60.0 + 2 * number for number in range(1, 11)))
    assert pace.left == pytest.approx(90 * 2)


def test_what_was_recorded_already_does_not_promise_a_fast_run():
    pace = ended(Pace(200, 0.0), *([0.0] * 100), *(3.0 * number for number in range(1, 31)))
    assert pace.left == pytest.approx(70 * 3)


def test_before_the_first_few_ends_nothing_is_promised():
    pace = ended(Pace(100, 0.0), *range(1, FEW))
    assert pace.left is None
    assert pace.told() == "60/min, time left not known yet"


def test_nothing_is_left_at_the_end():
    assert ended(Pace(2, 0.0), 1.0, 2.0).left == 0.0
