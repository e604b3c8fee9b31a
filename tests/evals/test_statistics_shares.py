"""Intervals of shares near their ends, where a bootstrap has nothing to draw from."""

import numpy as np
import pytest

from evals.scoring.lafs import OperatingPoint, lafs_gain
from evals.statistics.bootstrap import mean_interval
from evals.statistics.clusters import Clusters, clusters_of
from evals.statistics.frontier_gain import Scored, gain_interval
from evals.statistics.intervals import wilson_interval
from evals.statistics.shares import mean_share_interval, share_difference_interval


def singles(count: int) -> Clusters:
    return clusters_of([str(one) for one in range(count)], None)


def pairs(both: int, only_one: int, only_other: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    one = [1] * both + [1] * only_one + [0] * only_other + [0] * neither
    other = [1] * both + [0] * only_one + [1] * only_other + [0] * neither
    return np.array(one, dtype=float), np.array(other, dtype=float)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_right_or_all_wrong_is_no_certainty(value: float) -> None:
    found = mean_share_interval(np.full(8, value), singles(8))
    assert found == wilson_interval(8 * value, 8)


def test_a_few_wrong_ones_are_no_narrower_than_wilsons() -> None:
    values = np.array([1.0] * 29 + [0.5])
    found, wilsons = mean_share_interval(values, singles(30)), wilson_interval(29.5, 30)
    assert found is not None
    assert wilsons is not None
    assert found.low <= wilsons.low < values.mean() <= found.high


def test_in_the_middle_it_is_the_bootstrap() -> None:
    values = np.array([0.0, 0.5, 1.0] * 10)
    assert mean_share_interval(values, singles(30)) == mean_interval(values, singles(30))
    one, other = pairs(10, 8, 12, 10)
    assert share_difference_interval(one, other, singles(40)) == mean_interval(other - one, singles(40))


@pytest.mark.parametrize("table", [(8, 0, 0, 0), (0, 0, 0, 8), (0, 0, 8, 0), (0, 8, 0, 0), (4, 0, 0, 4)])
def test_differences_without_spread_are_no_certainty(table: tuple[int, int, int, int]) -> None:
    one, other = pairs(*table)
    found = share_difference_interval(one, other, singles(8))
    assert found is not None
    assert -1 <= found.low <= (other - one).mean() <= found.high <= 1
    assert found.high - found.low > 0.2


def test_a_difference_near_an_end_is_newcombes() -> None:
    """The example of his table II: 36, 12, 2 and 0 of 50 pairs."""
    one, other = pairs(36, 2, 12, 0)
    one_cluster = Clusters(np.zeros(50, dtype=np.int64), 1, by_gold=True)
    found = share_difference_interval(one, other, one_cluster)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.0569, 0.3404), abs=5e-5)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_a_gain_is_no_surer_than_the_accuracy_it_is_made_of(right: float) -> None:
    point = Scored(np.full(8, right), np.linspace(3, 5, 8))
    found, wilsons = gain_interval([point], singles(8), "small"), wilson_interval(8 * right, 8)
    assert found is not None
    assert wilsons is not None
    ends = [lafs_gain([OperatingPoint(one, 4.0)], "small") for one in (wilsons.low, wilsons.high)]
    assert found.low <= ends[0]
    assert found.high >= ends[1]
    assert found.high <= 100
    assert 0 <= found.low <= lafs_gain([OperatingPoint(right, 4.0)], "small") <= found.high


def test_a_gain_also_knows_how_its_latency_varies() -> None:
    scores = np.ones(8)
    steady = gain_interval([Scored(scores, np.full(8, 20.0))], singles(8), "small")
    wild = gain_interval([Scored(scores, np.array([2.0] * 7 + [146.0]))], singles(8), "small")
    assert steady is not None
    assert wild is not None
    assert wild.low < steady.low
    assert wild.high > steady.high


def test_one_cluster_still_has_the_accuracys_interval() -> None:
    one = Clusters(np.zeros(8, dtype=np.int64), 1, by_gold=True)
    found = gain_interval([Scored(np.ones(8), np.full(8, 4.0))], one, "small")
    assert found is not None
    assert found.high - found.low > 5
