"""How sure a LAFS gain is: accuracy and mean latency are recomputed together in every resample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.scoring.lafs import SHORTEST_BUDGET_SECONDS, OperatingPoint, lafs_gain
from evals.statistics.bootstrap import bootstrap_interval
from evals.statistics.clusters import Clusters
from evals.statistics.intervals import Interval

RESAMPLES = 2_000
_COLUMNS = 3


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
    """Bootstrap interval of the gain of some points together over the reference of a tier.

    Questions are drawn once for all points, by cluster: what makes a question hard or slow does so for all.
    The reference points are taken as they were published. None as in `bootstrap_interval`.

    Args:
        points: each over the same questions, in the order of `clusters`.

    Raises KeyError for a tier without a reference.
    """
    columns = np.column_stack([column for point in points for column in _sums(point)])

    def gains(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([_gain(row.reshape(-1, _COLUMNS), tier) for row in sums])

    return bootstrap_interval(columns, clusters, gains, confidence=confidence, resamples=resamples, seed=seed)


def _sums(point: Scored) -> tuple[NDArray[np.float64], ...]:
    there = np.isfinite(point.scores)
    return np.where(there, point.scores, 0), np.where(there, point.seconds, 0), there.astype(float)


def _gain(sums: NDArray[np.float64], tier: str) -> float:
    """Rows are (correct, seconds, questions) of a point; NaN where a point got no question."""
    if np.any(sums[:, 2] == 0):
        return float("nan")
    # Below the shortest budget all latencies count alike, also one of 0 that a record may tell.
    means = [(right / n, max(seconds / n, SHORTEST_BUDGET_SECONDS)) for right, seconds, n in sums.tolist()]
    return lafs_gain([OperatingPoint(*one) for one in means], tier)
