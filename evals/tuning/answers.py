"""What a run has answered, as racing takes it."""

from collections.abc import Sequence

from evals.comparison.measures import Measure
from evals.recorded import RecordedRun
from evals.runs.records import QueryRecord
from evals.runs.results import QuestionResult
from evals.tuning.racing import Answered


def answered(run: RecordedRun, measure: Measure) -> list[Answered]:
    """In the run's order, up to the first question that has no figure yet."""
    found = []
    for question_id in run.record.questions:
        one = _answer(run.results[question_id], measure)
        if one is None:
            break
        found.append(one)
    return found


def missing(run: RecordedRun, measure: Measure, question_ids: Sequence[str]) -> list[str]:
    """Which of the questions have no figure."""
    return [one for one in question_ids if _answer(run.results[one], measure) is None]


def _answer(result: QuestionResult, measure: Measure) -> Answered | None:
    value, seconds = measure.of(result), result.seconds
    return None if value is None or seconds is None else Answered(value, seconds, _usd(result.queries))


def _usd(queries: Sequence[QueryRecord]) -> float | None:
    """Of all attempts; None where the price of any call is unknown."""
    attempts = [attempt for query in queries for attempt in query.result.attempts]
    costs = [wire.cost_usd for attempt in attempts if (wire := attempt.wire) and wire.calls]
    return None if None in costs else sum(one for one in costs if one is not None)
