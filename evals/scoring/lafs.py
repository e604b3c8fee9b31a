"""LAFS: accuracy and latency in one number, as the benchmark defines it.

For a latency budget T drawn log-uniformly from 1 to 200 s, take the best accuracy among the operating points
that answer within T (0 where none does); LAFS is the mean over T, in percent. What a submission gains is the
LAFS of the reference points with it, less that of the reference points alone.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SHORTEST_BUDGET_SECONDS = 1.0
LONGEST_BUDGET_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """One configuration of a method. `accuracy` is a share, 0..1, never a percentage; `seconds` is the mean.

    Raises ValueError for an accuracy outside 0..1 and for a latency that is not above 0.
    """

    accuracy: float
    seconds: float

    def __post_init__(self) -> None:
        if not 0 <= self.accuracy <= 1:
            raise ValueError(f"accuracy {self.accuracy} is no share (give 0.749 for 74.9 %)")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"latency {self.seconds} s is not a time above 0")


REFERENCE: Mapping[str, Mapping[str, OperatingPoint]] = {
    "small": {
        "RAG slice + notes": OperatingPoint(0.510, 0.2),
        "AgentRunbook-R": OperatingPoint(0.586, 26.9),
        "AgentRunbook-C": OperatingPoint(0.749, 108.3),
        "Codex": OperatingPoint(0.699, 177.2),
    },
    "medium": {
        "RAG slice + notes": OperatingPoint(0.459, 0.3),
        "AgentRunbook-R": OperatingPoint(0.570, 25.8),
        "AgentRunbook-C": OperatingPoint(0.701, 139.9),
        "Codex": OperatingPoint(0.687, 185.8),
    },
}
"""The published points, by tier."""


def lafs(points: Iterable[OperatingPoint]) -> float:
    """LAFS of some operating points, 0..100."""
    gained, best = 0.0, 0.0
    for point in sorted(points, key=lambda point: point.seconds):
        if point.accuracy > best and point.seconds < LONGEST_BUDGET_SECONDS:
            start = max(point.seconds, SHORTEST_BUDGET_SECONDS)
            gained += (point.accuracy - best) * math.log(LONGEST_BUDGET_SECONDS / start)
            best = point.accuracy
    return 100 * gained / math.log(LONGEST_BUDGET_SECONDS / SHORTEST_BUDGET_SECONDS)


def lafs_gain(points: Iterable[OperatingPoint], tier: str) -> float:
    """What the points add to the reference of a tier; raises KeyError for a tier without one."""
    reference = list(REFERENCE[tier].values())
    return lafs([*reference, *points]) - lafs(reference)
