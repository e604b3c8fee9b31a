"""Two or more runs, paired by question: differences with intervals, tests, and the questions that flip."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evals.comparison.differences import Difference, differences
from evals.comparison.measures import MEASURES, Measure
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.latency import official_latency
from evals.runs.remarks import is_replayed, told_of
from evals.runs.results import QuestionResult
from evals.statistics.bootstrap import bootstrap_interval, mean_interval
from evals.statistics.clusters import Clusters, clusters_of
from evals.statistics.intervals import Interval
from evals.statistics.paired import detectable_difference, holm, mcnemar
from evals.statistics.shares import share_difference_interval

ALL = "all"
CONFIDENCE = 0.95

Pairs = Mapping[str, tuple[QuestionResult, QuestionResult]]


@dataclass(frozen=True, slots=True)
class Row:
    """One measure over the common questions of one type, or all. `difference` is b - a, in shares."""

    scope: str
    measure: str
    questions: int
    a: float
    b: float
    difference: float
    interval: Interval | None
    """None where the data show no spread; see `share_difference_interval`."""
    clusters: int
    both: int | None = None
    only_a: int | None = None
    only_b: int | None = None
    neither: int | None = None
    p: float | None = None
    """McNemar's, exact; only in tested rows."""
    p_holm: float | None = None
    detectable: float | None = None
    """About the smallest difference that this many discordant questions would show with power 0.8."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Official latency over the common questions, in seconds; of a question the mean over its repeats."""

    questions: int
    a: dict[str, float | None]
    b: dict[str, float | None]
    difference: float
    interval: Interval | None
    ratio: float
    """Geometric mean of b / a, question by question."""
    ratio_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that only one of the runs has right."""

    question_id: str
    question_type: str
    right: str
    """"a" or "b"."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many questions of each run have what is compared, and how many both have."""

    a: int
    b: int
    a_questions: int
    b_questions: int
    common: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `runbook compare` prints of two runs."""

    a: str
    b: str
    measure: str
    coverage: Coverage
    rows: list[Row]
    """Tested: all questions, then each type."""
    beside: list[Row]
    """Other measures, over all common questions; not tested."""
    latency: Latency | None
    """None also where either is a replay, whose latencies are nobody's."""
    flips: list[Flip]
    clustered_by: str
    """"gold evidence" or "question"."""
    few_clusters: bool
    differences: list[Difference]
    remarks: list[str]
    """What else has to be said of the two runs, by name; see `evals.runs.remarks`."""


def compare(
    base: RecordedRun, others: Sequence[RecordedRun], gold: Mapping[str, Gold], *, seed: int = 0
) -> list[Comparison]:
    """Compare each of the others (b) with the base (a); p-values are held over all rows of all of them.

    Only questions that both have are compared. Raises ValueError where two runs have no common figure.
    """
    made = [_compare(base, other, gold, seed) for other in others]
    held = iter(holm([row.p for one in made for row in one.rows if row.p is not None]))
    return [
        replace(one, rows=[row if row.p is None else replace(row, p_holm=next(held)) for row in one.rows])
        for one in made
    ]


def _compare(a: RecordedRun, b: RecordedRun, gold: Mapping[str, Gold], seed: int) -> Comparison:
    one, other = a.answered(), b.answered()
    pairs = {question: (one[question], other[question]) for question in one if question in other}
    measure = next((measure for measure in MEASURES if _having(pairs, measure)), None)
    if measure is None:
        raise ValueError(f"{a.name} and {b.name} have no question in common that has a figure in both")
    common = _having(pairs, measure)
    clusters = clusters_of(list(common), gold)
    beside = [another for another in MEASURES if another is not measure and _having(pairs, another)]
    return Comparison(
        a=a.name,
        b=b.name,
        measure=measure.name,
        coverage=Coverage(
            a=sum(measure.of(result) is not None for result in one.values()),
            b=sum(measure.of(result) is not None for result in other.values()),
            a_questions=len(a.results),
            b_questions=len(b.results),
            common=len(common),
        ),
        rows=[
            _tested(_row(scope, chosen, measure, gold, seed))
            for scope, chosen in [(ALL, common), *_by_type(common)]
        ],
        beside=[_row(ALL, _having(pairs, another), another, gold, seed) for another in beside],
        latency=None if is_replayed(a) or is_replayed(b) else _latency(common, clusters, seed),
        flips=_flips(common, measure),
        clustered_by="gold evidence" if clusters.by_gold else "question",
        few_clusters=clusters.few,
        differences=differences(a, b, list(common)),
        remarks=told_of([a, b]),
    )


def _having(pairs: Pairs, measure: Measure) -> Pairs:
    return {
        question: (one, other)
        for question, (one, other) in pairs.items()
        if measure.of(one) is not None and measure.of(other) is not None
    }


def _by_type(pairs: Pairs) -> list[tuple[str, Pairs]]:
    types = sorted({one.question_type for one, _ in pairs.values()})
    if len(types) < 2:
        return []
    return [
        (kind, {question: pair for question, pair in pairs.items() if pair[0].question_type == kind})
        for kind in types
    ]


def _row(scope: str, pairs: Pairs, measure: Measure, gold: Mapping[str, Gold], seed: int) -> Row:
    values = np.array([[measure.of(one), measure.of(other)] for one, other in pairs.values()], dtype=float)
    clusters = clusters_of(list(pairs), gold)
    row = Row(
        scope=scope,
        measure=measure.name,
        questions=len(values),
        a=float(values[:, 0].mean()),
        b=float(values[:, 1].mean()),
        difference=float((values[:, 1] - values[:, 0]).mean()),
        interval=share_difference_interval(
            values[:, 0], values[:, 1], clusters, confidence=CONFIDENCE, seed=seed
        ),
        clusters=clusters.count,
    )
    if not measure.yes_or_no or not np.isin(values, (0, 1)).all():
        return row  # a mean over repeats is no yes or no
    right = values == 1
    return replace(
        row,
        both=int(np.sum(right.all(axis=1))),
        only_a=int(np.sum(right[:, 0] & ~right[:, 1])),
        only_b=int(np.sum(~right[:, 0] & right[:, 1])),
        neither=int(np.sum(~right.any(axis=1))),
    )


def _tested(row: Row) -> Row:
    if row.only_a is None or row.only_b is None:
        return row
    return replace(
        row,
        p=mcnemar(row.only_a, row.only_b),
        detectable=detectable_difference(row.only_a + row.only_b, row.questions),
    )


def _latency(pairs: Pairs, clusters: Clusters, seed: int) -> Latency | None:
    seconds = np.array([[one.seconds or 0.0, other.seconds or 0.0] for one, other in pairs.values()])
    if not np.all(seconds > 0):
        return None
    logs = np.log(seconds[:, 1] / seconds[:, 0])
    return Latency(
        questions=len(seconds),
        a=official_latency(query for one, _ in pairs.values() for query in one.answers),
        b=official_latency(query for _, other in pairs.values() for query in other.answers),
        difference=float((seconds[:, 1] - seconds[:, 0]).mean()),
        interval=mean_interval(seconds[:, 1] - seconds[:, 0], clusters, confidence=CONFIDENCE, seed=seed),
        ratio=float(np.exp(logs.mean())),
        ratio_interval=bootstrap_interval(
            np.column_stack([logs, np.ones(len(logs))]),
            clusters,
            lambda sums: np.exp(sums[:, 0] / sums[:, 1]),
            confidence=CONFIDENCE,
            seed=seed,
        ),
    )


def _flips(pairs: Pairs, measure: Measure) -> list[Flip]:
    return [
        Flip(question, one.question_type, "a" if measure.of(one) == 1 else "b")
        for question, (one, other) in sorted(pairs.items())
        if measure.yes_or_no and {measure.of(one), measure.of(other)} == {0, 1}
    ]
