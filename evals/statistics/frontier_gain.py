"""How sure a LAFS gain is: of what accuracy and mean latency allow, together and each by itself."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evals.scoring.lafs import REFERENCE, SHORTEST_BUDGET_SECONDS, OperatingPoint, lafs, lafs_gain
from evals.statistics.bootstrap import bootstrap_interval
from evals.statistics.clusters import Clusters
from evals.statistics.intervals import Interval, wilson_interval
from evals.statistics.shares import hull, mean_share_interval

RESAMPLES = 2_000
_COLUMNS = 3
_Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """One operating point, question by question; NaN in both where it has no score for a question."""

    scores: NDArray[np.float64]
    """0..1; between them, the mean of repeats."""
    seconds: NDArray[np.float64]


def gain_interval(
    points: Sequence[Scored],
    clusters: Clusters,
    tier: str,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Interval of the gain of some points together over the reference of a tier.

    Two intervals are joined, so that no end lies further in than either says:

    - A bootstrap of accuracy and latency together. Questions are drawn once for all points, by cluster: what
      makes a question hard or slow does so for all. It has no width in accuracy where all answers are right,
      or none.
    - The gain at the ends of the accuracies' own intervals (`mean_share_interval`), all points at their lower
      or all at their upper end, put together with the spread of the gain under resampled latencies alone: the
      two distances from the gain are added in squares (MOVER, Zou and Donner, Statist. Med. 27 (2008) 1693).
      It is therefore never narrower than what the accuracies alone imply at the measured latencies.

    The gain grows with each accuracy and is 0 at least. The reference points are taken as they were
    published.

    Args:
        points: each over the same questions, in the order of `clusters`.

    Returns None where a point has no question. Raises KeyError for a tier without a reference.
    """
    if not all(np.isfinite(point.scores).any() for point in points):
        return None
    columns = np.column_stack([column for point in points for column in _sums(point)])
    accuracies = [_accuracy(point) for point in points]

    def gains(sums: _Floats) -> _Floats:
        return np.array([_gain(row.reshape(-1, _COLUMNS), tier) for row in sums])

    def of_latency(sums: _Floats) -> _Floats:
        return np.array([_gain(_with(row.reshape(-1, _COLUMNS), accuracies), tier) for row in sums])

    def drawn(statistic: Callable[[_Floats], _Floats]) -> Interval | None:
        return bootstrap_interval(
            columns, clusters, statistic, confidence=confidence, resamples=resamples, seed=seed
        )

    measured = columns.sum(axis=0).reshape(-1, _COLUMNS)
    gain = _gain(measured, tier)
    ends = [_accuracy_interval(point, clusters, confidence, seed) for point in points]
    lowest = _gain(_with(measured, [one.low for one in ends]), tier)
    highest = _gain(_with(measured, [one.high for one in ends]), tier)
    pace = drawn(of_latency) or Interval(gain, gain)
    low = gain - math.hypot(gain - lowest, max(0.0, gain - pace.low))
    high = gain + math.hypot(highest - gain, max(0.0, pace.high - gain))
    most = 100 - lafs(REFERENCE[tier].values())
    return hull(drawn(gains), Interval(max(0.0, low), min(most, high)))


def _accuracy(point: Scored) -> float:
    return float(np.nanmean(point.scores))


def _accuracy_interval(point: Scored, clusters: Clusters, confidence: float, seed: int) -> Interval:
    there = np.isfinite(point.scores)
    scores = point.scores[there]
    found = mean_share_interval(scores, clusters.among(there), confidence=confidence, seed=seed)
    # A run without repeats shows Wilson's, which the gain must not be surer than.
    ends = hull(found, wilson_interval(float(scores.sum()), len(scores), confidence))
    assert ends is not None
    return ends


def _with(sums: _Floats, accuracies: Sequence[float]) -> _Floats:
    """The sums of points, had they these accuracies."""
    return np.column_stack([np.array(accuracies) * sums[:, 2], sums[:, 1], sums[:, 2]])


def _sums(point: Scored) -> tuple[_Floats, ...]:
    there = np.isfinite(point.scores)
    return np.where(there, point.scores, 0), np.where(there, point.seconds, 0), there.astype(float)


def _gain(sums: _Floats, tier: str) -> float:
    """Rows are (correct, seconds, questions) of a point; NaN where a point got no question."""
    if np.any(sums[:, 2] == 0):
        return float("nan")
    # Below the shortest budget all latencies count alike, also one of 0 that a record may tell.
    means = [(right / n, max(seconds / n, SHORTEST_BUDGET_SECONDS)) for right, seconds, n in sums.tolist()]
    return lafs_gain([OperatingPoint(*one) for one in means], tier)
