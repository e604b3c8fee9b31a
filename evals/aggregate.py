"""The figures of a whole run, under the public names; shares are 0..1, times are seconds of wall time.

A share over no question is None, never 0. What was not scored is in `coverage`, not in a mean.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from evals.scoring.eval_function import ABSTENTION_CHECKER
from runbook.endpoint.usage import Usage

_Value = TypeVar("_Value")
Figures = dict[str, float | int | None]

_TYPES = {
    "static-environment": "static",
    "static-environment-abs": "static-abs",
    "dynamic-environment": "dynamic",
    "dynamic-environment-abs": "dynamic-abs",
    "procedure": "procedure",
    "procedure-abs": "procedure-abs",
    "errors-gotchas": "gotchas",
}
_ABSTAINING = ("static", "dynamic", "procedure")


class ScoredQuestion(BaseModel):
    """What the aggregates need of one question; a part that is not known is None and left out of its mean."""

    model_config = ConfigDict(frozen=True)

    question_type: str
    evaluator: str
    """The evaluator's name, without options: it decides what an abstention question is, not the type."""
    score: int | None
    """0 or 1; None where the question has no score."""
    unknown: bool = False
    usage: Usage | None = None
    """Of the reader."""
    original_tokens: int | None = None
    """Of the memory context before it was cut."""
    final_tokens: int | None = None
    truncated: bool = False
    query_seconds: float | None = None
    post_query_seconds: float | None = None
    """What the memory still did after its query was answered."""

    @property
    def category(self) -> str | None:
        """static, dynamic, procedure or gotchas, with -abs where the type has it; None for other types."""
        return _TYPES.get(self.question_type)

    @property
    def abstention(self) -> bool:
        """Whether the premise is wrong and the answer is to say so."""
        return self.evaluator == ABSTENTION_CHECKER


def accuracy(questions: Sequence[ScoredQuestion], total: int) -> Figures:
    """Strict, conditional and coverage, side by side.

    Args:
        questions: those with a record, scored or not.
        total: all questions of the tier; what is missing has no score.
    """
    scores = _scores(questions)
    return {
        "strict": sum(scores) / total if total else None,
        "conditional": _mean(scores),
        "coverage": len(scores) / total if total else None,
        "scored": len(scores),
        "questions": total,
    }


def aggregated_metrics(questions: Sequence[ScoredQuestion]) -> dict[str, Figures | dict[str, Figures]]:
    """The content of aggregated_metrics.json. Questions without a score are left out."""
    scored = [question for question in questions if question.score is not None]
    plain = [question for question in scored if not question.abstention]
    abstaining = [question for question in scored if question.abstention]
    return {
        "overall": {
            "overall_full_set": _mean(_scores(scored)),
            "overall_non_abstention_only": _mean(_scores(plain)),
            "overall_abstention_only": _mean(_scores(abstaining)),
            "count_all_questions": len(scored),
            "count_non_abstention": len(plain),
            "count_abstention": len(abstaining),
        },
        "non_abstention_by_category": {
            category: breakdown(_of(plain, category)) for category in (*_ABSTAINING, "gotchas")
        },
        "abstention_by_category": {
            f"{category}-abs": breakdown(_of(abstaining, f"{category}-abs")) for category in _ABSTAINING
        },
        "combined_abstention_by_category": {
            category: breakdown(_of(scored, category, f"{category}-abs")) for category in _ABSTAINING
        },
        "abstention_overall": breakdown(abstaining),
        "tokens": _token_figures(_known(question.usage for question in scored)),
        "memory_context": {
            "avg_original_tokens": _mean(_known(question.original_tokens for question in scored)),
            "avg_final_tokens": _mean(_known(question.final_tokens for question in scored)),
            "num_truncated_sequences": sum(question.truncated for question in scored),
        },
        "memory_query": _in_seconds(_known(question.query_seconds for question in scored)),
        "memory_post_query": _in_seconds(_known(question.post_query_seconds for question in scored)),
    }


def breakdown(questions: Sequence[ScoredQuestion]) -> Figures:
    """Count and shares of scored questions; an unknown answer is not also a wrong one."""
    wrong = [float(question.score == 0 and not question.unknown) for question in questions]
    return {
        "count": len(questions),
        "pct_correct": _mean(_scores(questions)),
        "pct_answered_wrong": _mean(wrong),
        "pct_unknown": _mean([float(question.unknown) for question in questions]),
    }


def latency_figures(seconds: Iterable[float]) -> dict[str, float | None]:
    """avg, p50, p95, max, total of some durations; None for each where there are none.

    p50 is the value at n // 2 of the sorted durations, p95 the one at min(n - 1, floor(0.95 n)).
    """
    ordered = sorted(seconds)
    if not ordered:
        return dict.fromkeys(("avg", "p50", "p95", "max", "total"))
    count = len(ordered)
    return {
        "avg": fmean(ordered),
        "p50": ordered[count // 2],
        "p95": ordered[min(count - 1, int(0.95 * count))],
        "max": ordered[-1],
        "total": sum(ordered),
    }


def _in_seconds(seconds: Sequence[float]) -> Figures:
    return {f"{name}_seconds": value for name, value in latency_figures(seconds).items()}


def _token_figures(usages: Sequence[Usage]) -> Figures:
    figures: Figures = {}
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        counts = [getattr(usage, name) for usage in usages]
        known = _known(counts)
        # One unknown count makes the sum unknown: a sum that is too low would look like a saving.
        figures[name] = sum(known) if counts and len(known) == len(counts) else None
        figures[f"avg_{name}"] = _mean(known)
    return figures


def _of(questions: Sequence[ScoredQuestion], *categories: str) -> list[ScoredQuestion]:
    return [question for question in questions if question.category in categories]


def _scores(questions: Sequence[ScoredQuestion]) -> list[int]:
    return _known(question.score for question in questions)


def _known(values: Iterable[_Value | None]) -> list[_Value]:
    return [value for value in values if value is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
