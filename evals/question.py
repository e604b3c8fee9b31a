"""A question as an evaluation knows it, and the gold evidence that answers it.

Memories never see these: they get a `runbook.question.Question`, which has neither id nor type nor gold.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class EvalQuestion(BaseModel):
    """One row of questions.jsonl."""

    model_config = ConfigDict(frozen=True)

    id: str
    domain: str
    question_type: str
    question: str
    image: Path | None
    """Resolved, inside the data root."""
    answer: str
    eval_function: str

    @property
    def abstention_type(self) -> bool:
        """Whether the question's premise is wrong, so that a good answer says so."""
        return self.question_type.endswith("-abs")


class GoldSpan(BaseModel):
    """States of one trajectory; both ends count, from 0."""

    model_config = ConfigDict(frozen=True)

    trajectory_id: str
    start_state_index: int
    end_state_index: int

    @property
    def states(self) -> int:
        """How many states the span has."""
        return self.end_state_index - self.start_state_index + 1


class Gold(BaseModel):
    """Where a question's answer stands: all pieces are needed, any one span of a piece will do."""

    model_config = ConfigDict(frozen=True)

    pieces: tuple[tuple[GoldSpan, ...], ...] = ()
