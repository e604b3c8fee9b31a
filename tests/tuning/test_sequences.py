"""Limits that hold at every look."""

import numpy as np
import pytest

from evals.tuning.sequences import lower_limit, upper_limit


def test_a_limit_is_ever_wrong_at_most_as_often_as_said() -> None:
    drawn = np.random.default_rng(1)
    level, studies = 0.1, 80
    wrong = 0
    for _ in range(studies):
        values = drawn.permutation((np.arange(30) < 9).astype(float))
        wrong += any(upper_limit(values[:n].tolist(), 30, level) < 0.3 - 1e-9 for n in range(2, 30, 4))
    # Under the level, 15 or more of 80 would be seen with a chance of about 2 %.
    assert wrong < 15


def test_times_without_an_upper_bound_have_a_lower_limit_that_holds() -> None:
    drawn = np.random.default_rng(2)
    wrong = 0
    for _ in range(100):
        seconds = drawn.lognormal(3, 1, 30)
        wrong += any(lower_limit(seconds[:n].tolist(), 30, 0.1) > seconds.mean() for n in range(2, 30, 4))
    assert wrong < 18


def test_all_values_give_the_mean_itself() -> None:
    assert lower_limit([1, 2, 6], 3, 0.05) == pytest.approx(3)
    assert upper_limit([1, 0, 0, 1], 4, 0.05) == pytest.approx(0.5)


def test_more_of_the_same_narrows() -> None:
    limits = [upper_limit([0.0] * n, 40, 0.05) for n in (0, 5, 10, 20)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] == 1
    assert limits[-1] < 0.2


def test_what_was_never_asked_counts_as_nothing() -> None:
    assert lower_limit([0, 0, 0], 10, 0.05) == 0
    assert upper_limit([1, 1, 1], 10, 0.05) == 1


@pytest.mark.parametrize(
    ("values", "population", "level"),
    [([-1], 3, 0.1), ([1, 1], 1, 0.1), ([1], 3, 0), ([float("nan")], 3, 0.1)],
)
def test_what_is_no_sample_is_refused(values: list[float], population: int, level: float) -> None:
    with pytest.raises(ValueError, match="no sample"):
        lower_limit(values, population, level)
