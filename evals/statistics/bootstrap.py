"""Cluster bootstrap intervals: whole clusters of questions are drawn, with replacement.

The interval is the percentile one (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13) over
resampled clusters (Field and Welsh, JRSS B 69 (2007) 369). With m clusters its levels are widened from a/2 to
Phi(-sqrt(m/(m-1)) t[m-1, 1-a/2]), since plain percentiles are too narrow for few of them (Hesterberg, The
American Statistician 69 (2015) 371, "expanded percentile interval").
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evals.statistics.clusters import Clusters
from evals.statistics.intervals import Interval

RESAMPLES = 5_000
_AT_ONCE = 500
_Floats: TypeAlias = NDArray[np.float64]


def bootstrap_interval(
    columns: _Floats,
    clusters: Clusters,
    statistic: Callable[[_Floats], _Floats],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The interval of any statistic of column sums.

    Args:
        columns: questions x columns.
        clusters: of the same questions.
        statistic: from the column sums of some resamples (resamples x columns) to one value each; a resample
            whose value is not finite is left out.
        seed: the same data and seed give the same interval.

    Returns None where there are fewer than two clusters, or where no resample differs from another: such data
    show no spread, and an interval without width would claim certainty.
    """
    if clusters.count < 2:
        return None
    sums = np.zeros((clusters.count, columns.shape[1]))
    np.add.at(sums, clusters.labels, columns)
    drawn = np.random.default_rng(seed)
    even = np.full(clusters.count, 1 / clusters.count)
    values = []
    for start in range(0, resamples, _AT_ONCE):
        times = drawn.multinomial(clusters.count, even, size=min(_AT_ONCE, resamples - start))
        values.append(statistic(times @ sums))
    found = np.concatenate(values)
    found = found[np.isfinite(found)]
    if found.size == 0 or np.ptp(found) < 1e-12:
        return None
    tail = _tail(confidence, clusters.count)
    low, high = np.quantile(found, [tail, 1 - tail])
    return Interval(float(low), float(high))


def mean_interval(
    values: _Floats,
    clusters: Clusters,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The interval of a mean over questions; give paired differences for a paired interval.

    None as in `bootstrap_interval`.
    """
    columns = np.column_stack([values, np.ones(len(values))])
    return bootstrap_interval(
        columns,
        clusters,
        lambda sums: sums[:, 0] / sums[:, 1],
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


def _tail(confidence: float, count: int) -> float:
    quantile = _t_quantile((1 + confidence) / 2, count - 1)
    return NormalDist().cdf(-math.sqrt(count / (count - 1)) * quantile)


def _t_quantile(level: float, freedom: int) -> float:
    """Quantile of Student's t by the expansion of Abramowitz and Stegun 26.7.5; good from 4 degrees on."""
    z = NormalDist().inv_cdf(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / math.pow(freedom, power) for power, term in enumerate(terms, start=1))
