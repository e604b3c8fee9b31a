"""From runs to operating points, question by question, so that their gain can be resampled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.comparison.measures import ACCURACY, EVIDENCE_HIT, Measure
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.remarks import is_replayed
from evals.runs.score_interval import share_interval
from evals.scoring.lafs import OperatingPoint
from evals.statistics.frontier_gain import Scored
from evals.statistics.intervals import Interval


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
    """Whether every question of the tier counts."""
    replayed: bool = False
    """Whether its latency is that of a replay, and so nobody's."""

    @property
    def is_result(self) -> bool:
        """Whether it can be a benchmark result."""
        return self.complete and not self.replayed

    @property
    def operating_point(self) -> OperatingPoint:
        return OperatingPoint(self.value, self.seconds)


def measure_of(runs: Sequence[RecordedRun]) -> Measure:
    """Accuracy where every run has a reader; else evidence hits, which are no accuracy."""
    return ACCURACY if all(run.has_reader for run in runs) else EVIDENCE_HIT


def scored_of(run: RecordedRun, measure: Measure, question_ids: Sequence[str]) -> Scored:
    """The run's figures and latencies in the order of the questions, each the mean over all repeats; NaN
    where it has none."""
    answered = run.answered()
    rows = []
    for question_id in question_ids:
        result = answered.get(question_id)
        pair = (measure.of(result), result.seconds) if result else (None, None)
        rows.append((np.nan, np.nan) if None in pair else pair)
    values = np.array(rows, dtype=float).reshape(-1, 2)
    return Scored(values[:, 0], values[:, 1])


def point_of(run: RecordedRun, measure: Measure, gold: Mapping[str, Gold]) -> RunPoint:
    """The run's operating point; `gold` tells which questions stand together. Raises NoPointError."""
    scored = scored_of(run, measure, list(run.results))
    there = np.isfinite(scored.scores)
    count = int(there.sum())
    if count == 0:
        raise NoPointError(f"{run.name} has no question with {measure.name.replace('_', ' ')} yet")
    total = run.record.tier_questions
    seconds = float(scored.seconds[there].mean())
    if seconds <= 0:
        raise NoPointError(f"{run.name} has a mean latency of {seconds} s, which cannot be")
    values = dict(
        zip(np.array(list(run.results))[there].tolist(), scored.scores[there].tolist(), strict=True)
    )
    return RunPoint(
        name=run.name,
        value=float(scored.scores[there].mean()),
        interval=share_interval(values, lambda: (gold, "")).ends if measure.yes_or_no else None,
        seconds=seconds,
        questions=count,
        coverage=count / total,
        smoke=run.record.smoke,
        complete=count == total and not run.record.smoke,
        replayed=is_replayed(run),
    )
