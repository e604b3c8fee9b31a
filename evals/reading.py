"""Reading: a reader's response to one memory context, with what it cost and what had to be cut."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from runbook.endpoint.usage import Usage
from runbook.quantities import Count, Seconds

Fallback = Literal["reasoning", "bad_request"]
"""The reply's reasoning text, or an empty response for a request refused with status 400."""


class Cut(BaseModel):
    """How the memory context was fitted into the reader's token budget."""

    model_config = ConfigDict(frozen=True)

    counter: str
    """How tokens were counted; an estimate says so."""
    budget_tokens: int
    original_tokens: Count
    final_tokens: Count
    original_items: Count
    final_items: Count
    shortened_item: int | None = None
    """Position of the text item that was shortened, with a marker at its end."""

    @property
    def truncated(self) -> bool:
        """Whether anything of the context was left out."""
        return self.final_items < self.original_items or self.shortened_item is not None


class Reading(BaseModel):
    """One response. Images of the request are named by the context's digests, never kept here."""

    model_config = ConfigDict(frozen=True)

    response: str
    parsed_answer: str
    unknown: bool
    finish_reason: str | None
    requested_model: str
    model: str | None
    """The model that the reply names."""
    usage: Usage
    seconds: Seconds
    """Wall time of the call that succeeded."""
    calls: Count
    """Requests sent, with those that failed and were retried."""
    waited_seconds: Seconds
    """Time spent waiting between requests."""
    cut: Cut
    system_prompt_sha256: str
    user_prompt_sha256: str
    """Of the user message, with each image replaced by its own SHA-256."""
    seed: int | None = None
    fallback: Fallback | None = None
    """Where the response came from, if not from the reply's content."""
