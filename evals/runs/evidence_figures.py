"""What the memory found, over questions: each counts once, with the mean over its repeats."""

from collections.abc import Callable, Iterable
from statistics import fmean

from evals.evidence_recall import EvidenceRecall, EvidenceSummary
from evals.runs.records import InContext
from evals.runs.results import QuestionResult, mean_over_answers


def evidence_figures(results: Iterable[QuestionResult]) -> EvidenceSummary:
    """Means over the questions whose gold has pieces, without what is nobody's answer."""
    with_gold = [
        one
        for one in results
        if any(query.evidence_recall and query.evidence_recall.pieces for query in one.answers)
    ]

    def mean(figure: Callable[[EvidenceRecall], float | bool | None]) -> float | None:
        return _mean(
            mean_over_answers(
                one, lambda query: figure(query.evidence_recall) if query.evidence_recall else None
            )
            for one in with_gold
        )

    return EvidenceSummary(
        questions=len(with_gold),
        hit=mean(lambda recall: recall.hit),
        all_pieces_hit=mean(lambda recall: recall.all_pieces_hit),
        strict=mean(lambda recall: recall.strict),
        states_per_question=mean(lambda recall: recall.states),
    )


def answers_found(
    results: Iterable[QuestionResult], where: Callable[[InContext], bool | None]
) -> dict[str, float]:
    """By question, the share of its repeats where its answer was found, for those where it can be told."""
    found = {
        one.question_id: mean_over_answers(
            one, lambda query: where(query.answer_in_context) if query.answer_in_context else None
        )
        for one in results
    }
    return {question_id: value for question_id, value in found.items() if value is not None}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
