"""What can be compared of two runs over a question: scores, or without a reader what the memory found."""

from collections.abc import Callable
from dataclasses import dataclass

from evals.runs.results import QuestionResult


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a question, 0..1; None where the question has none."""

    name: str
    yes_or_no: bool
    """Whether each question has 0 or 1 (but for means over repeats), so that McNemar's test applies."""
    of: Callable[[QuestionResult], float | None]


def _score(result: QuestionResult) -> float | None:
    return result.mean_score


def _all_pieces_hit(result: QuestionResult) -> float | None:
    recall = result.query.evidence_recall if result.query else None
    return None if recall is None or recall.all_pieces_hit is None else float(recall.all_pieces_hit)


def _evidence_hit(result: QuestionResult) -> float | None:
    recall = result.query.evidence_recall if result.query else None
    return None if recall is None else recall.hit


def _answer_in_context(result: QuestionResult) -> float | None:
    found = result.query.answer_in_context if result.query else None
    return None if found is None or found.context is None else float(found.context)


ACCURACY = Measure("accuracy", True, _score)
ALL_PIECES_HIT = Measure("all_pieces_hit", True, _all_pieces_hit)
EVIDENCE_HIT = Measure("evidence_hit", False, _evidence_hit)
ANSWER_IN_CONTEXT = Measure("answer_in_context", True, _answer_in_context)

MEASURES = (ACCURACY, ALL_PIECES_HIT, ANSWER_IN_CONTEXT, EVIDENCE_HIT)
"""The first that both runs have is tested; the others are shown beside it."""
