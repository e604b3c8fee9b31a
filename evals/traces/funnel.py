"""Where a question's gold got lost: candidates, opened, cited, in context, answered."""

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evals.evidence_recall import evidence_recall
from evals.question import Gold, GoldSpan
from evals.traces.addresses import State

ErrorClass = Literal["major_miss", "minor_miss", "reading_error", "gotcha_reading", "premise_error"]
_GOTCHAS = "errors-gotchas"


class Funnel(BaseModel):
    """Shares of a question's gold pieces, 0..1; None where it cannot be told."""

    model_config = ConfigDict(extra="forbid")

    in_candidates: float | None = None
    listed: float | None = None
    """Named in a result that the agent saw; results are excerpts, so this is a lower bound."""
    opened: float | None = None
    cited: float | None = None
    in_context: float | None = None
    """Cited, and the context was not cut for the reader; None where it was cut or nobody read."""
    answered: bool | None = None
    """Whether the answer was right."""
    answered_from_gold: bool | None = None
    """Right, with every piece cited."""


def share_hit(states: Iterable[State], gold: Gold | None) -> float | None:
    """The share of gold pieces of which at least one state is among `states`."""
    if gold is None:
        return None
    spans = [
        GoldSpan(trajectory_id=name, start_state_index=index, end_state_index=index) for name, index in states
    ]
    return evidence_recall(spans, gold).hit


def is_gold(state: State, gold: Gold) -> bool:
    """Whether a state lies in any span of the gold."""
    return any(
        span.trajectory_id == state[0] and span.start_state_index <= state[1] <= span.end_state_index
        for piece in gold.pieces
        for span in piece
    )


def error_class(question_type: str, score: int | None, cited: float | None) -> ErrorClass | None:
    """What kind of error a wrong answer is; None for a right one, or where it cannot be told."""
    if score != 0:
        return None
    if question_type.endswith("-abs"):
        return "premise_error"
    if cited is None:
        return None
    if cited < 1:
        return "minor_miss" if cited else "major_miss"
    return "gotcha_reading" if question_type == _GOTCHAS else "reading_error"
