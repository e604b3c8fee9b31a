"""The figures at the head of a report: each run by itself."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from evals.comparison.measures import EVIDENCE_HIT
from evals.report.answerers import Answerer, answerers
from evals.report.chapter import Chapter
from evals.report.loading import ReportedRun
from evals.report.settings import settings_of
from evals.report.timings import Phase, mean_phases
from evals.runs.latency import machine_load, official_latency
from evals.runs.remarks import About, remarks_of
from evals.runs.results import QuestionResult
from evals.runs.score_interval import share_interval
from evals.runs.spending import spending
from evals.statistics.clusters import clusters_of
from evals.statistics.intervals import Interval
from evals.statistics.shares import mean_share_interval
from evals.traces.classes import rules
from runbook.outcomes import INFRASTRUCTURE_FAILURES, METHOD_FAILURES, Outcome

STAGES = {
    "in_candidates": "in the candidates",
    "listed": "listed to the agent",
    "opened": "opened",
    "cited": "cited",
    "in_context": "in the reader's context",
}
"""How far a question's gold comes, in order."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of questions with its interval; `value` is None where nothing counts."""

    value: float | None
    interval: Interval | None
    count: int


@dataclass(frozen=True, slots=True)
class TypeRow:
    """The questions of one type."""

    name: str
    questions: int
    right: Share
    hit: Share
    seconds: float | None


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """The questions that ended in one way."""

    name: str
    count: int
    share: float
    kind: str
    """good, method, infrastructure or open."""


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage that gold comes to: over questions, the mean share of a question's pieces."""

    name: str
    share: float
    questions: int


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Tool calls of one class, a question."""

    name: str
    calls: float
    share: float


@dataclass(frozen=True, slots=True)
class Overview:
    """One run in figures."""

    letter: str
    name: str
    settings: list[tuple[str, str]]
    questions: int
    asked: int
    accuracy: Share
    strict: float | None
    hit: Share
    latency: dict[str, float | None]
    caveat: str
    """Why the latencies are not to be trusted; "" where they are."""
    spent: dict[str, Any] | None
    reader: str
    judge: str
    """Models; "" where nobody reads or judges."""
    answerers: list[Answerer]
    types: list[TypeRow]
    phases: list[Phase]
    outcomes: list[OutcomeRow]
    stages: list[StageRow]
    from_gold: Share
    """Of the questions: right, with every piece of gold cited; nothing where stages were repeated."""
    several: bool
    """Whether any stage was repeated."""
    errors: list[tuple[str, int]]
    classes: list[ClassRow]
    notes: list[str]
    has_agent: bool

    @property
    def has_reader(self) -> bool:
        return self.accuracy.count > 0


def overview(run: ReportedRun, chapters: Sequence[Chapter]) -> Overview:
    """The figures of a run, finished or not."""
    results = list(run.run.results.values())
    asked = [result for result in results if result.query is not None]
    accuracy = right_share(run, results)
    record = run.run.record
    correct = None if run.several or not accuracy.count else sum(result.score or 0 for result in results)
    notes = [*run.notes, *filter(None, [run.archive.problem])]
    asked_models = answerers(record.config, results)
    machine = machine_load([query for result in results for query in result.answers])
    spent = spending([query for result in results for query in result.queries], correct)
    return Overview(
        letter=run.letter,
        name=run.run.name,
        settings=settings_of(run, machine, spent, asked_models),
        questions=len(record.questions),
        asked=len(asked),
        accuracy=accuracy,
        strict=accuracy.value * accuracy.count / len(record.questions)
        if accuracy.value is not None and record.questions
        else None,
        hit=_hit_share(run, results),
        latency=official_latency(query for result in results for query in result.answers),
        caveat="; ".join(one.text for one in remarks_of(run.run) if one.about is About.LOAD),
        spent=spent,
        reader=record.config.reader.model if record.config.reader else "",
        judge=record.config.judge.model if record.config.judge else "",
        answerers=asked_models,
        types=[_type_row(run, kind, results) for kind in sorted({one.question_type for one in results})],
        phases=mean_phases([one.phases for one in chapters if one.phases]),
        outcomes=_outcomes(results),
        stages=_stages(run),
        from_gold=_from_gold(run),
        several=run.several,
        errors=Counter(
            one.error_class.replace("_", " ") for one in run.traces.values() if one.error_class
        ).most_common(),
        classes=_classes(run),
        notes=notes,
        has_agent=run.has_agent,
    )


def right_share(run: ReportedRun, results: Iterable[QuestionResult]) -> Share:
    """The share of right answers among those with a score; repeats of a question are one mean."""
    scores = {one.question_id: one.mean_score for one in results if one.mean_score is not None}
    if not scores:
        return Share(None, None, 0)
    interval = share_interval(scores, lambda: (run.gold, "")).ends
    return Share(fmean(scores.values()), interval, len(scores))


def _hit_share(run: ReportedRun, results: Sequence[QuestionResult]) -> Share:
    hits = {one.question_id: hit for one in results if (hit := EVIDENCE_HIT.of(one)) is not None}
    values = np.array(list(hits.values()), dtype=float)
    interval = mean_share_interval(values, clusters_of(list(hits), run.gold)) if len(hits) > 1 else None
    return Share(fmean(hits.values()) if hits else None, interval, len(hits))


def _type_row(run: ReportedRun, kind: str, results: Sequence[QuestionResult]) -> TypeRow:
    those = [one for one in results if one.question_type == kind]
    seconds = official_latency(query for one in those for query in one.answers)["avg"]
    return TypeRow(kind, len(those), right_share(run, those), _hit_share(run, those), seconds)


def _outcomes(results: Sequence[QuestionResult]) -> list[OutcomeRow]:
    counted = Counter(result.outcome for result in results)
    return [
        OutcomeRow(
            outcome.value if outcome else "not asked yet", count, count / len(results), kind_of(outcome)
        )
        for outcome, count in counted.most_common()
    ]


def kind_of(outcome: Outcome | None) -> str:
    """good, method, infrastructure or open: whose doing an outcome is."""
    if outcome is None:
        return "open"
    if outcome in INFRASTRUCTURE_FAILURES:
        return "infrastructure"
    return "method" if outcome in METHOD_FAILURES else "good"


def _stages(run: ReportedRun) -> list[StageRow]:
    rows = []
    for stage, name in STAGES.items():
        told = [getattr(one.funnel, stage) for one in run.traces.values()]
        known = [float(value) for value in told if value is not None]
        if known:
            rows.append(StageRow(name, fmean(known), len(known)))
    return rows if any(stage.name == STAGES["cited"] for stage in rows) else []


def _from_gold(run: ReportedRun) -> Share:
    told = [one.funnel.answered_from_gold for one in run.traces.values()]
    known = [] if run.several else [float(one) for one in told if one is not None]
    return Share(fmean(known) if known else None, None, len(known))


def _classes(run: ReportedRun) -> list[ClassRow]:
    counted = Counter[str]()
    traced = 0
    for question in run.traces.values():
        figures = [attempt.figures for attempt in question.attempts if attempt.figures]
        traced += bool(figures)
        for one in figures:
            counted.update(one.classes)
    total = counted.total()
    return [
        ClassRow(kind.replace("_", " "), counted[kind] / traced, counted[kind] / total)
        for kind in rules().order
        if counted[kind]
    ]
