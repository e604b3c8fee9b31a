"""LAFS is the benchmark's own, and accuracies are shares."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.scoring.lafs import REFERENCE, OperatingPoint, lafs, lafs_gain

points = st.lists(st.builds(OperatingPoint, st.floats(0, 1), st.floats(0.01, 400)), max_size=6)


def gain(tier: str, *pairs: tuple[float, float]) -> float:
    return lafs_gain([OperatingPoint(percent / 100, seconds) for percent, seconds in pairs], tier)


@pytest.mark.needs("shared")
def test_every_lafs_vector(vectors):
    rows = vectors("lafs")
    assert len(rows) == 34
    for row in rows:
        own = [OperatingPoint(percent / 100, seconds) for percent, seconds in row["points"]]
        total = lafs([*REFERENCE[row["tier"]].values(), *own])
        assert total == pytest.approx(row["lafs"], abs=1e-9), row
        assert lafs_gain(own, row["tier"]) == pytest.approx(row["gain"], abs=1e-9), row


def test_the_reference_alone():
    assert lafs(REFERENCE["small"].values()) == pytest.approx(55.76, abs=0.005)
    assert lafs(REFERENCE["medium"].values()) == pytest.approx(51.07, abs=0.005)


@pytest.mark.parametrize(
    ("tier", "point", "expected"),
    [
        ("small", (75.9, 108), 0.12),
        ("small", (74.9, 80), 0.93),
        ("small", (74.9, 54), 2.14),
        ("small", (74.9, 40), 3.06),
        ("small", (70, 20), 4.06),
        ("small", (70.1, 40), 2.16),
        ("medium", (70.1, 40), 3.10),
    ],
)
def test_marginal_values(tier, point, expected):
    assert gain(tier, point) == pytest.approx(expected, abs=0.005)


def test_edges_of_the_budget():
    assert lafs([OperatingPoint(1, 0.2)]) == lafs([OperatingPoint(1, 1.0)]) == 100
    assert lafs([OperatingPoint(1, 200)]) == 0
    assert lafs([]) == 0


@pytest.mark.parametrize(
    ("accuracy", "seconds"),
    [(74.9, 10), (-0.1, 10), (0.5, 0), (0.5, -1), (0.5, math.inf), (math.nan, 1)],
)
def test_a_point_that_cannot_be(accuracy, seconds):
    with pytest.raises(ValueError, match=r"accuracy|latency"):
        OperatingPoint(accuracy, seconds)


@given(points, points)
def test_more_points_never_lower_it(some, more):
    assert 0 <= lafs(some) <= lafs([*some, *more]) + 1e-9 <= 100 + 1e-6


@settings(max_examples=30)
@given(points)
def test_it_is_the_mean_of_the_best_accuracy_over_log_uniform_budgets(some):
    budgets = [200 ** ((step + 0.5) / 800) for step in range(800)]
    best = [max((p.accuracy for p in some if p.seconds <= budget), default=0.0) for budget in budgets]
    assert lafs(some) == pytest.approx(100 * sum(best) / len(best), abs=0.8)
