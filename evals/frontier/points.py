"""From runs to operating points, question by question, so that their gain can be resampled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evals.comparison.measures import ACCURACY, EVIDENCE_HIT, Measure
from evals.recorded import RecordedRun
from evals.scoring.lafs import OperatingPoint
from evals.statistics.frontier_gain import Scored
from evals.statistics.intervals import Interval, wilson_interval


class NoPointError(ValueError):
    """A run that is no operating point: none of its questions has the figure."""


@dataclass(frozen=True, slots=True)
class RunPoint:
    """One run on the frontier. `value` is the mean of the measure, 0..1, over the questions that have it."""

    name: str
    value: float
    interval: Interval | None
    seconds: float
    """Mean official latency of the same questions."""
    questions: int
    coverage: float
    """Of all questions of the tier."""
    smoke: bool
    complete: bool
    """Whether every question of the tier counts, so that it is a benchmark result."""

    @property
    def operating_point(self) -> OperatingPoint:
        return OperatingPoint(self.value, self.seconds)


def measure_of(runs: Sequence[RecordedRun]) -> Measure:
    """Accuracy where every run has a reader; else evidence hits, which are no accuracy."""
    return ACCURACY if all(run.has_reader for run in runs) else EVIDENCE_HIT


def scored_of(run: RecordedRun, measure: Measure, question_ids: Sequence[str]) -> Scored:
    """The run's figures and latencies in the order of the questions; NaN where it has none."""
    answered = run.answered()
    rows = []
    for question_id in question_ids:
        result = answered.get(question_id)
        value = measure.of(result) if result else None
        known = result is not None and result.query is not None and value is not None
        rows.append((value, result.query.result.seconds) if known else (np.nan, np.nan))  # type: ignore[union-attr]
    values = np.array(rows, dtype=float).reshape(-1, 2)
    return Scored(values[:, 0], values[:, 1])


def point_of(run: RecordedRun, measure: Measure) -> RunPoint:
    """The run's operating point. Raises NoPointError."""
    scored = scored_of(run, measure, list(run.results))
    there = np.isfinite(scored.scores)
    count = int(there.sum())
    if count == 0:
        raise NoPointError(f"{run.name} has no question with {measure.name.replace('_', ' ')} yet")
    total = run.record.tier_questions
    seconds = float(scored.seconds[there].mean())
    if seconds <= 0:
        raise NoPointError(f"{run.name} has a mean latency of {seconds} s, which cannot be")
    hits = float(scored.scores[there].sum())
    return RunPoint(
        name=run.name,
        value=hits / count,
        interval=wilson_interval(round(hits), count) if np.isin(scored.scores[there], (0, 1)).all() else None,
        seconds=seconds,
        questions=count,
        coverage=count / total,
        smoke=run.record.smoke,
        complete=count == total and not run.record.smoke,
    )
