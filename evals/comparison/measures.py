"""What can be compared of two runs over a question: scores, or without a reader what the memory found."""

from collections.abc import Callable
from dataclasses import dataclass

from evals.runs.results import QuestionResult, mean_over_answers


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a question, 0..1, the mean over its repeats; None where the question has none."""

    name: str
    yes_or_no: bool
    """Whether each question has 0 or 1 (but for means over repeats), so that McNemar's test applies."""
    of: Callable[[QuestionResult], float | None]


def _score(result: QuestionResult) -> float | None:
    return result.mean_score


def _all_pieces_hit(result: QuestionResult) -> float | None:
    return mean_over_answers(
        result, lambda one: one.evidence_recall.all_pieces_hit if one.evidence_recall else None
    )


def _evidence_hit(result: QuestionResult) -> float | None:
    return mean_over_answers(result, lambda one: one.evidence_recall.hit if one.evidence_recall else None)


def _answer_in_context(result: QuestionResult) -> float | None:
    return mean_over_answers(
        result, lambda one: one.answer_in_context.context if one.answer_in_context else None
    )


ACCURACY = Measure("accuracy", True, _score)
ALL_PIECES_HIT = Measure("all_pieces_hit", True, _all_pieces_hit)
EVIDENCE_HIT = Measure("evidence_hit", False, _evidence_hit)
ANSWER_IN_CONTEXT = Measure("answer_in_context", True, _answer_in_context)

MEASURES = (ACCURACY, ALL_PIECES_HIT, ANSWER_IN_CONTEXT, EVIDENCE_HIT)
"""The first that both runs have is tested; the others are shown beside it."""
