"""What the gateway writes down: one `ModelCall` a request, one line each in `model_calls.jsonl`.

Fields that hold their default are left out of a line.
Times are seconds. `requested_at` is UTC; every other time counts from it.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from runbook.outcomes import Outcome
from runbook.quantities import Count, Seconds, Usd


class Wire(StrEnum):
    """The protocols a model is spoken to in."""

    OPENAI_RESPONSES = "openai-responses"
    OPENAI_CHAT = "openai-chat"
    ANTHROPIC_MESSAGES = "anthropic-messages"
    GEMINI = "gemini"


class Usage(BaseModel):
    """Tokens of one call or a sum of calls; the buckets do not overlap, except that output holds reasoning.

    None means that the provider did not say, which is never the same as 0.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fresh_input: int | None = Field(default=None, ge=0)
    """Input tokens that were neither read from nor written to a cache."""
    cache_read: int | None = Field(default=None, ge=0)
    cache_write: int | None = Field(default=None, ge=0)
    output: int | None = Field(default=None, ge=0)
    """All output tokens, reasoning included."""
    reasoning: int | None = Field(default=None, ge=0)
    """The part of the output that was reasoning."""


class ToolCall(BaseModel):
    """A tool call that the model asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str
    arguments: str
    """As sent: JSON text, which a model may have got wrong."""


class ToolResult(BaseModel):
    """What the agent sent back for a tool call; recorded with the first request that carries it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: str
    is_error: bool | None = None
    """None where the protocol does not say."""


class ModelCall(BaseModel):
    """One request of an agent to a model, retries of the gateway included."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(ge=1)
    """Counted from 1 within the attempt, in the order in which requests arrived."""
    wire: Wire | None
    """None for requests that generate nothing: a model list, a token count, a probe, a refused path."""
    provider: str
    method: str
    path: str
    """As the agent asked for it, below the route prefix; queries included, keys taken out."""
    requested_at: str
    """UTC, ISO 8601, milliseconds."""
    first_byte_seconds: float | None = None
    """Until the first byte of the response body left for the agent."""
    last_byte_seconds: float | None = None
    status: int | None = None
    """As given to the agent; None where the agent went away before an answer."""
    outcome: Outcome | None = None
    """None for a good answer, else whose failure it was, for example auth_error or budget_exceeded."""
    detail: str = ""
    """Why, in one sentence, without keys."""
    abandoned: bool = False
    """The agent, or the end of its attempt, broke the call off before the answer was whole."""
    cut: bool = False
    """The response ended before the protocol's own end."""
    requested_model: str | None = None
    actual_model: str | None = None
    usage: Usage | None = None
    """None where no usage was seen."""
    cost_usd: float | None = None
    """None where the price or the usage is unknown."""
    estimated_usage: Usage | None = None
    """What the call took beyond `usage`, by the length of its texts; only budgets count it. None where the
    provider told all."""
    estimated_cost_usd: float | None = None
    """Of `estimated_usage`; None where there is none or the price is unknown."""
    retries: int = 0
    """Further tries that the gateway made."""
    rate_limit_seconds: float = 0.0
    """Time spent waiting because the provider, or our own limit per key, said so."""
    text: str = ""
    """What the model said, tool calls and reasoning aside."""
    reasoning: str = ""
    tool_calls: list[ToolCall] = []
    tool_results: list[ToolResult] = []
    request: list[str] = []
    """Digest of the root part of the request body; it names the other parts (`parts.py`), all of which lie in
    `model_bodies.jsonl`. Empty where the request had no body or was refused."""
    request_is_json: bool = True
    """False where the root part is the raw body instead."""
    response: str | None = None
    """Digest of the response body, as the agent received it."""
    replayed: bool = False
    """The answer, and the times above, come from a recording."""


class WireFacts(BaseModel):
    """What the wire says of a whole attempt: the sum of its model calls."""

    model_config = ConfigDict(extra="forbid")

    calls: Count = 0
    """Calls that asked for a generation."""
    failed_calls: Count = 0
    reused_calls: Count = 0
    """Those whose answers come from a recording: they count in all other figures as when they were asked."""
    tool_calls: Count = 0
    usage: Usage = Usage()
    """Sums of what is known; a bucket is None where no call told it."""
    usage_unknown_calls: Count = 0
    estimated_tokens: Count = 0
    """Tokens beside `usage` that nobody told, by the length of texts; budgets count them, too."""
    abandoned_calls: Count = 0
    """Calls that the agent, or the end of its attempt, broke off; what they cost is unknown."""
    cost_usd: Usd | None = None
    """Of all calls but the abandoned ones; None where the price of any of them is unknown."""
    requested_models: list[str] = []
    actual_models: list[str] = []
    model_seconds: Seconds = 0.0
    """Wall time in which at least one call was open."""
    first_byte_seconds: Seconds | None = None
    """From the opening of the line to the first byte of the first answer."""
    rate_limit_seconds: Seconds = 0.0
    retries: Count = 0
    failure: Outcome | None = None
    """What the attempt's last generation failed with, or the budget that ran out; None where it went well."""
    detail: str = ""
