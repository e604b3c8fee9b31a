"""Runs on one frontier: LAFS with and without them, what each is worth, and which are not dominated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.comparison.differences import Aspect, differences
from evals.comparison.measures import ACCURACY
from evals.frontier.points import RunPoint, measure_of, point_of, scored_of
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.remarks import told_of
from evals.scoring.lafs import REFERENCE, OperatingPoint, lafs
from evals.statistics.clusters import clusters_of
from evals.statistics.frontier_gain import gain_interval
from evals.statistics.intervals import Interval

BENCHMARK_QUESTIONS = 451
"""Of the published reference points."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What one run adds, in LAFS points."""

    point: RunPoint
    alone: float | None
    """To the reference points, with no other run; None where there are none."""
    marginal: float | None
    """To the reference points and all the other runs."""
    undominated: bool
    """No other point, published ones included, is both as quick and as good."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """What `runbook frontier` prints. LAFS is 0..100."""

    tier: str
    measure: str
    reference: Mapping[str, OperatingPoint]
    """The published points of the tier; none where the measure is no accuracy."""
    reference_lafs: float | None
    lafs: float | None
    gain: float | None
    """None, as the two above, where the measure is no accuracy: LAFS is defined for nothing else."""
    gain_interval: Interval | None
    runs: list[Worth]
    pareto: list[str]
    """Undominated points by latency, runs and published ones."""
    remarks: list[str]


def frontier(runs: Sequence[RecordedRun], tier: str, gold: Mapping[str, Gold], *, seed: int = 0) -> Frontier:
    """Put runs on the frontier of a tier.

    Raises NoPointError for a run without any figure, KeyError for a tier without published points.
    """
    measure = measure_of(runs)
    points = [point_of(run, measure, gold) for run in runs]
    if measure is not ACCURACY:
        return _of_evidence(tier, measure.name, points, _remarks(points, runs, tier, with_reference=False))
    reference = REFERENCE[tier]
    published = list(reference.values())
    own = [point.operating_point for point in points]
    before, after = lafs(published), lafs([*published, *own])
    questions = list(dict.fromkeys(question for run in runs for question in run.results))
    scored = [scored_of(run, measure, questions) for run in runs]
    return Frontier(
        tier=tier,
        measure=measure.name,
        reference=reference,
        reference_lafs=before,
        lafs=after,
        gain=after - before,
        gain_interval=gain_interval(scored, clusters_of(questions, gold), tier, seed=seed),
        runs=[
            Worth(
                point=point,
                alone=lafs([*published, own[index]]) - before,
                marginal=after - lafs([*published, *own[:index], *own[index + 1 :]]),
                undominated=_undominated(own[index], [*published, *own]),
            )
            for index, point in enumerate(points)
        ],
        pareto=_pareto([*reference.items(), *((point.name, point.operating_point) for point in points)]),
        remarks=_remarks(points, runs, tier, with_reference=True),
    )


def _of_evidence(tier: str, measure: str, points: Sequence[RunPoint], remarks: list[str]) -> Frontier:
    """A frontier of the runs among themselves."""
    own = [point.operating_point for point in points]
    return Frontier(
        tier=tier,
        measure=measure,
        reference={},
        reference_lafs=None,
        lafs=None,
        gain=None,
        gain_interval=None,
        runs=[Worth(point, None, None, _undominated(point.operating_point, own)) for point in points],
        pareto=_pareto([(point.name, point.operating_point) for point in points]),
        remarks=remarks,
    )


def _undominated(point: OperatingPoint, others: Sequence[OperatingPoint]) -> bool:
    return not any(
        other.seconds <= point.seconds and other.accuracy >= point.accuracy and other != point
        for other in others
    )


def _pareto(named: Sequence[tuple[str, OperatingPoint]]) -> list[str]:
    points = [point for _, point in named]
    left = [(point.seconds, name) for name, point in named if _undominated(point, points)]
    return [name for _, name in sorted(left)]


def _remarks(
    points: Sequence[RunPoint], runs: Sequence[RecordedRun], tier: str, *, with_reference: bool
) -> list[str]:
    remarks = []
    if not with_reference:
        remarks.append(
            "Not every run has a reader: the measure is evidence hit, the mean over questions of the share "
            "of gold pieces that were hit; it is no accuracy and is not put beside the published points."
        )
    remarks += told_of(runs)
    partial = [
        f"{point.name} ({point.questions})" for point in points if not point.complete and not point.smoke
    ]
    if partial:
        remarks.append(f"Not all questions of the tier count in {', '.join(partial)}: no benchmark result.")
    if with_reference and any(point.questions != BENCHMARK_QUESTIONS for point in points):
        remarks.append(
            f"The published points are over the {BENCHMARK_QUESTIONS} questions of LongMemEval-V2; other "
            "questions make other numbers."
        )
    remarks += [told for run in runs[1:] if (told := _unlike(runs[0], run))]
    others = sorted({run.record.config.tier for run in runs} - {tier})
    if others:
        remarks.append(f"Runs of tier {', '.join(others)} stand beside the published points of {tier}.")
    return remarks


def _unlike(base: RecordedRun, other: RecordedRun) -> str:
    """In what two runs differ beside their memory; tiers are told for all together."""
    common = [one for one in base.results if one in other.results]
    found = [one for one in differences(base, other, common) if one.aspect not in (None, Aspect.TIER)]
    if not common:
        return (
            f"{base.name} and {other.name} have no question in common: their points are of other questions."
        )
    if not found:
        return ""
    told = "; ".join(map(str, found))
    return f"{base.name} and {other.name} differ in more than the memory: {told}."
