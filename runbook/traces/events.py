"""The one schema that whatever an agent did is told in: a `TraceEvent` a line in `trace.jsonl`."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runbook.gateway.records import Usage


class Kind(StrEnum):
    """What an event tells."""

    LIFECYCLE = "lifecycle"
    MESSAGE = "message"
    REASONING = "reasoning"
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"
    USAGE = "usage"
    ERROR = "error"
    RETRY = "retry"
    UNKNOWN = "unknown"
    """A line that no rule reads, kept raw."""


class Source(StrEnum):
    """Who said so."""

    STREAM = "stream"
    """The agent's own output."""
    WIRE = "wire"
    """The model traffic."""
    BOTH = "both"
    CONTROLLER = "controller"


class TraceEvent(BaseModel):
    """One thing that happened. Fields that an event has nothing to say about keep their defaults.

    Every text comes from an agent or a model: long ones are excerpts, and nothing in them is trusted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    source: Source
    at: float | None = None
    """Seconds from the attempt's start; None where nothing was stamped."""
    response: str = ""
    """The model response it belongs to: `call N` of `model_calls.jsonl`, else the stream's own id."""
    role: Literal["", "user", "assistant", "system"] = ""
    text: str = ""
    """Of a message, a reasoning, an error or a retry; the name of a lifecycle event."""
    call_id: str = ""
    """The model's id of a tool call, else the stream's; ids can repeat within an attempt."""
    tool: str = ""
    command: str = ""
    """Shell text without the shell around it; of a file tool "". Whole at the end of a call as well."""
    raw_command: str = ""
    """As the agent tells it, where that differs."""
    arguments: str = ""
    """JSON text, for tools that take no command."""
    exit_code: int | None = None
    failed: bool | None = None
    """Whether the agent called it a failure; None where it does not say."""
    output: str = ""
    """Excerpt of what a tool gave."""
    output_bytes: int | None = Field(default=None, ge=0)
    """Size of the output as the stream holds it."""
    shown_bytes: int | None = Field(default=None, ge=0)
    """Size of the result that the model was sent, as the wire holds it."""
    truncated: bool | None = None
    """Whether the model saw less than there was; None where nobody says."""
    duration: float | None = Field(default=None, ge=0)
    """Seconds of a tool call or a model call, up to `at`."""
    first_byte: float | None = Field(default=None, ge=0)
    """Seconds from a model call's request to the first byte of its answer."""
    scope: Literal["", "call", "turn", "run"] = ""
    """Over what tokens are summed: one model call, one turn or the whole run."""
    tokens: Usage | None = None
    cost_usd: float | None = None
    model: str = ""
    status: int | None = None
    """HTTP status of an error or retry."""
    facts: dict[str, str] = {}
    """Of a lifecycle event."""
    raw: str = ""
    """Of an unknown event: the line, cut."""


def schema() -> dict[str, Any]:
    """The JSON Schema of a line of `trace.jsonl`."""
    return TraceEvent.model_json_schema()
