"""Figures over questions: by agent, and within an agent by question type and by outcome."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evals.traces.attempt import FIRST_ROUNDS, AttemptFigures
from evals.traces.classes import rules
from evals.traces.run import AttemptTrace, QuestionTrace, RunTraces
from runbook.gateway.records import Usage

By = Literal["agent", "type", "outcome"]
_STAGES = ("in_candidates", "listed", "opened", "cited", "in_context", "answered", "answered_from_gold")


class GroupFigures(BaseModel):
    """Means over the questions of a group; None over nothing, and where a part is not known."""

    model_config = ConfigDict(extra="forbid")

    run: str
    agent: str
    by: By
    group: str
    questions: int
    attempts: int
    traced_attempts: int
    correct: int
    calls_per_question: float | None
    classes_per_question: dict[str, float]
    """Tool calls by class, all attempts of a question together."""
    first_rounds: list[dict[str, float]]
    """Share of each class among the calls of the first, second and so on round of an attempt, 0..1."""
    rounds_per_attempt: float | None
    repeated_per_attempt: float | None
    failed_per_attempt: float | None
    truncated_per_attempt: float | None
    bytes_read_per_attempt: float | None
    states_opened: float | None
    first_gold_seconds: float | None
    """Mean over the questions in which a gold state was opened."""
    model_seconds: float | None
    tool_seconds: float | None
    attempt_seconds: float | None
    funnel: dict[str, float | None]
    """Mean over questions of the share of gold pieces that came as far as each stage."""
    errors: dict[str, int]
    """Wrong answers by class of error."""
    tokens_per_correct: float | None
    """Input and output tokens of all questions for each right answer."""
    usd_per_correct: float | None
    """None where the cost of any attempt is unknown."""


def group_figures(traces: RunTraces) -> list[GroupFigures]:
    """The figures of a run as a whole, then by question type, then by outcome."""
    groups: list[tuple[By, Callable[[QuestionTrace], str]]] = [
        ("agent", lambda question: question.agent),
        ("type", lambda question: question.question_type),
        ("outcome", lambda question: question.outcome),
    ]
    return [
        _figures(traces, by, name, [question for question in traces.questions if key(question) == name])
        for by, key in groups
        for name in sorted({key(question) for question in traces.questions})
    ]


def _figures(traces: RunTraces, by: By, group: str, questions: Sequence[QuestionTrace]) -> GroupFigures:
    attempts = [attempt for question in questions for attempt in question.attempts]
    told = [attempt.figures for attempt in attempts if attempt.figures]
    classes = Counter[str]()
    for one in told:
        classes.update(one.classes)
    traced = sum(any(attempt.figures for attempt in question.attempts) for question in questions)
    correct = sum(question.score == 1 for question in questions)
    return GroupFigures(
        run=traces.run,
        agent=traces.agent,
        by=by,
        group=group,
        questions=len(questions),
        attempts=len(attempts),
        traced_attempts=len(told),
        correct=correct,
        calls_per_question=classes.total() / traced if traced else None,
        classes_per_question={kind: classes[kind] / traced for kind in rules().order} if traced else {},
        first_rounds=_first_rounds(told),
        rounds_per_attempt=_mean(one.rounds for one in told),
        repeated_per_attempt=_mean(one.repeated for one in told),
        failed_per_attempt=_mean(one.failed for one in told),
        truncated_per_attempt=_mean(one.truncated for one in told),
        bytes_read_per_attempt=_mean(one.bytes_read for one in told),
        states_opened=_mean(question.states_opened for question in questions),
        first_gold_seconds=_mean(question.first_gold_seconds for question in questions),
        model_seconds=_mean(one.model_seconds for one in told),
        tool_seconds=_mean(one.tool_seconds for one in told),
        attempt_seconds=_mean(attempt.seconds for attempt in attempts),
        funnel={stage: _mean(getattr(question.funnel, stage) for question in questions) for stage in _STAGES},
        errors=dict(Counter(question.error_class for question in questions if question.error_class)),
        tokens_per_correct=_per_correct([_tokens(one.tokens) for one in _all(attempts)], correct),
        usd_per_correct=_per_correct([one.cost_usd for one in _all(attempts)], correct),
    )


def _all(attempts: Iterable[AttemptTrace]) -> list[AttemptFigures]:
    """Figures of every attempt; one without a trace has none that are known."""
    return [attempt.figures or AttemptFigures() for attempt in attempts]


def _first_rounds(told: Sequence[AttemptFigures]) -> list[dict[str, float]]:
    shares = []
    for number in range(FIRST_ROUNDS):
        classes = Counter[str]()
        for one in told:
            classes.update(one.first_rounds[number] if number < len(one.first_rounds) else {})
        if classes:
            shares.append({kind: classes[kind] / classes.total() for kind in rules().order})
    return shares


def _tokens(usage: Usage | None) -> int | None:
    if usage is None or usage.fresh_input is None or usage.output is None:
        return None
    return usage.fresh_input + (usage.cache_read or 0) + (usage.cache_write or 0) + usage.output


def _per_correct(amounts: Sequence[float | None], correct: int) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) / correct if correct and amounts and len(known) == len(amounts) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else None
