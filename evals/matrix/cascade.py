"""What cascades of two recorded memories would have scored and taken, threshold by threshold.

A threshold is chosen on one half of the questions and told on the other, both ways round; questions whose
gold evidence lies in the same trajectories are in the same half. So no point is told on the questions that
chose it.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.comparison.measures import MEASURES, Measure
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.remarks import told_of
from evals.runs.results import mean_over_answers
from evals.statistics.clusters import clusters_of

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class CascadeError(ValueError):
    """The two runs cannot be put into a cascade; the message says why."""


@dataclass(frozen=True, slots=True)
class CascadePoint:
    """One operating point: the quick memory answers about this share of the questions."""

    wanted_share: float
    thresholds: tuple[float, float]
    """Of the quick memory's confidence: chosen on either half, used for the other."""
    quick_share: float
    """Of the questions that the quick memory really answered."""
    value: float
    """Mean of the measure, 0..1."""
    seconds: float
    """Mean latency; both memories' where the slow one was asked."""


@dataclass(frozen=True, slots=True)
class CascadeCurve:
    """All points, from the slow memory alone to the quick one alone."""

    measure: str
    questions: int
    halves: tuple[int, int]
    points: list[CascadePoint]
    remarks: list[str]
    """What else has to be said of the two runs; see `evals.runs.remarks`."""


@dataclass(frozen=True, slots=True)
class _Case:
    """One question; of repeats the means."""

    confidence: float
    quick: float
    slow: float
    quick_seconds: float
    slow_seconds: float


def cascade_curve(
    quick: RecordedRun, slow: RecordedRun, gold: Mapping[str, Gold], *, seed: int = 0
) -> CascadeCurve:
    """Operating points of `quick` before `slow`, over the questions both have answered.

    Raises CascadeError where the quick memory tells no confidence, or they have no figure in common.
    """
    measure, cases = _cases(quick, slow)
    names = list(cases)
    halves = _halves(names, gold, seed)
    if not all(halves):
        raise CascadeError(
            "all questions share their gold evidence, so no threshold can be told on others than chose it"
        )
    points = [_point(share, [[cases[name] for name in half] for half in halves]) for share in SHARES]
    return CascadeCurve(
        measure.name, len(names), (len(halves[0]), len(halves[1])), points, told_of([quick, slow])
    )


def _cases(quick: RecordedRun, slow: RecordedRun) -> tuple[Measure, dict[str, _Case]]:
    one, other = quick.answered(), slow.answered()
    common = [name for name in one if name in other]
    for measure in MEASURES:
        cases: dict[str, _Case] = {}
        for name in common:
            first, second = one[name], other[name]
            confidence = mean_over_answers(first, lambda query: query.result.confidence)
            values = (measure.of(first), measure.of(second), first.seconds, second.seconds)
            if confidence is None or None in values:
                continue
            cases[name] = _Case(confidence, *(float(value or 0.0) for value in values))
        if cases:
            return measure, cases
    raise CascadeError(
        f"{quick.name} and {slow.name} have no question in common with a figure in both and a confidence in "
        f"{quick.name}: memories that search tell one"
    )


def _halves(names: Sequence[str], gold: Mapping[str, Gold], seed: int) -> tuple[list[str], list[str]]:
    """Whole clusters, dealt to the smaller half in a random order."""
    clusters = clusters_of(names, gold)
    members: list[list[str]] = [[] for _ in range(clusters.count)]
    for name, label in zip(names, clusters.labels.tolist(), strict=True):
        members[label].append(name)
    random.Random(seed).shuffle(members)
    halves: tuple[list[str], list[str]] = ([], [])
    for cluster in sorted(members, key=len, reverse=True):
        min(halves, key=len).extend(cluster)
    return halves


def _point(share: float, halves: Sequence[Sequence[_Case]]) -> CascadePoint:
    thresholds = [_threshold(share, half) for half in halves]
    told = [
        (case, case.confidence >= threshold)
        for half, threshold in zip(halves, reversed(thresholds), strict=True)
        for case in half
    ]
    return CascadePoint(
        wanted_share=share,
        thresholds=(thresholds[0], thresholds[1]),
        quick_share=float(np.mean([sure for _, sure in told])),
        value=float(np.mean([case.quick if sure else case.slow for case, sure in told])),
        seconds=float(
            np.mean([case.quick_seconds + (0.0 if sure else case.slow_seconds) for case, sure in told])
        ),
    )


def _threshold(share: float, cases: Sequence[_Case]) -> float:
    """The confidence that this share of the cases reaches; above 1 for none, 0 for all."""
    if share <= 0:
        return 1.0 + 1e-9
    if share >= 1:
        return 0.0
    return float(np.quantile([case.confidence for case in cases], 1 - share))
