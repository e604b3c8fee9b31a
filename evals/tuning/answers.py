"""What a run has answered, as racing takes it."""

from collections.abc import Sequence

from evals.comparison.measures import Measure
from evals.recorded import RecordedRun
from evals.runs.records import QueryRecord, is_scoreless
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
    query = result.query
    if query is None or is_scoreless(query.outcome):
        return None
    value = measure.of(result)
    return None if value is None else Answered(value, query.result.seconds, _usd(query))


def _usd(query: QueryRecord) -> float | None:
    """Of all attempts; None where the price of any call is unknown."""
    costs = [wire.cost_usd for attempt in query.result.attempts if (wire := attempt.wire) and wire.calls]
    return None if None in costs else sum(one for one in costs if one is not None)
