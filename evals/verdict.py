"""Verdict: what a question's evaluator said about one response."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from runbook.endpoint.usage import Usage
from runbook.quantities import Count, Seconds


class Vote(BaseModel):
    """One answer of a judge model."""

    model_config = ConfigDict(frozen=True)

    label: Literal[0, 1]
    reason: str
    model: str | None
    """The model that the reply names."""
    calls: Count
    seconds: Seconds
    usage: Usage | None = None
    seed: int | None = None
    fallback: Literal["lenient_verdict"] | None = None
    """Where the reply is no verdict by strict reading, or another one."""
    cached: bool = False
    """Taken from an earlier answer to the same request, which is what calls, seconds and usage are of."""


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
    judge_calls: Count = 0
    judge_seconds: Seconds = 0.0
    judge_prompt_sha256: str | None = None
    """None where no model was asked."""
    usage: Usage | None = None
    votes: tuple[Vote, ...] = ()
    """The judge's answers, whose majority is the label; the figures above are their sums."""
