"""Staged gates: a few questions first, so that a broken set-up costs three attempts and not four hundred."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from evals.question import EvalQuestion
from evals.runs.records import is_scoreless
from evals.runs.results import QuestionResult
from runbook.outcomes import Outcome


def parts(questions: Sequence[EvalQuestion], gates: Sequence[int]) -> Iterator[list[EvalQuestion]]:
    """The questions cut after each of the numbers `gates`; every question is in exactly one part."""
    cuts = [0, *(gate for gate in sorted(set(gates)) if 0 < gate < len(questions)), len(questions)]
    for start, end in pairwise(cuts):
        yield list(questions[start:end])


def nothing_answered(results: Sequence[QuestionResult]) -> str | None:
    """Why a run failed as a whole: whatever was asked ended in a failure of machine or model."""
    outcomes = [chain.outcome for one in results for chain in one.chains if chain.outcome is not None]
    if not outcomes or not all(map(is_scoreless, outcomes)):
        return None
    return f"no question has an answer, the first ended in {outcomes[0]}: mend that and go on with the run"


def refusal(ended: Mapping[str, Outcome]) -> str | None:
    """Why a run should not go on after the questions that ended so; None where only memories failed."""
    failed = {question_id: outcome for question_id, outcome in ended.items() if is_scoreless(outcome)}
    if not failed:
        return None
    question_id, outcome = next(iter(failed.items()))
    return (
        f"{len(failed)} of the first {len(ended)} questions ended in an infrastructure failure, first "
        f"{question_id} in {outcome}: mend that and go on with the run; with --no-gates it goes on regardless"
    )
