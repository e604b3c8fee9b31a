"""Staged gates: a few questions first, so that a broken set-up costs three attempts and not four hundred."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from evals.question import EvalQuestion
from evals.runs.records import is_scoreless
from evals.runs.summary import QuestionResult


def stages_of(questions: Sequence[EvalQuestion], steps: Sequence[int]) -> Iterator[list[EvalQuestion]]:
    """The questions cut at each step below their number; every question in exactly one part."""
    cuts = [0, *(step for step in steps if step < len(questions)), len(questions)]
    for start, end in pairwise(cuts):
        yield list(questions[start:end])


def refusal(results: Sequence[QuestionResult]) -> str | None:
    """Why a run should not go on after these questions; None where nothing failed but memories."""
    failed = [
        (one.question_id, outcome) for one in results if (outcome := one.outcome) and is_scoreless(outcome)
    ]
    if not failed:
        return None
    question, outcome = failed[0]
    return (
        f"{len(failed)} of the first {len(results)} questions ended in an infrastructure failure, "
        f"first {question}: {outcome}; nobody's answer, so the run stops here"
    )
