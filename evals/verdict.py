"""Verdict: what a question's evaluator said about one response."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from evals.usage import Usage


class Verdict(BaseModel):
    """The score of one response, with all that is needed to see why."""

    model_config = ConfigDict(frozen=True)

    score: Literal[0, 1]
    label: Literal[0, 1] | None
    """What the matcher or judge said, before the rule that an unknown scores 0; None where not asked."""
    unknown: bool
    parsed_answer: str
    evaluator: str
    """The evaluator's name, without options."""
    reason: str
    judge_model: str | None = None
    """The model that the judge's reply names; None where no model was asked."""
    judge_calls: int = 0
    judge_seconds: float = 0.0
    judge_prompt_sha256: str | None = None
    usage: Usage | None = None
