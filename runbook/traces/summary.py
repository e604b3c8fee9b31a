"""What a trace amounts to: counts and sums that are known when it has been written."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent


class TraceSummary(BaseModel):
    """Counts of a written trace."""

    model_config = ConfigDict(extra="forbid")

    events: int = 0
    kinds: dict[str, int] = {}
    stream_lines: int = 0
    quiet_lines: int = 0
    """Lines of the stream that repeat what others tell, or tell nothing."""
    unknown_lines: dict[str, int] = {}
    """Lines of the stream that no rule reads, by their `type`; "" for those that are no JSON object."""
    wire_calls: int = 0
    damaged_wire_lines: int = 0
    tool_calls: int = 0
    """Distinct calls, whoever told of them."""
    matched_tool_calls: int = 0
    """Calls that the stream and the wire both tell of."""
    failed_commands: int = 0
    """Tool calls with an exit code other than 0."""
    tokens: Usage | None = None
    """None where nobody told any."""
    tokens_from: Source | None = None
    cost_usd: float | None = None
    """None where the cost of any part is unknown."""


class UsageSum:
    """Adds up the usage events of one source."""

    def __init__(self) -> None:
        self.tokens: Usage | None = None
        self.cost_usd: float | None = None
        self._begun = False
        self._whole_run = False

    def add(self, event: TraceEvent) -> None:
        """A sum over the run replaces its parts: some agents tell both, and their parts are guesses."""
        if event.scope == "run" or not self._begun:
            self.tokens, self.cost_usd = event.tokens, event.cost_usd
        elif not self._whole_run:
            known = self.cost_usd is not None and event.cost_usd is not None
            self.cost_usd = (self.cost_usd or 0.0) + (event.cost_usd or 0.0) if known else None
            self.tokens = _plus(self.tokens, event.tokens)
        self._whole_run |= event.scope == "run"
        self._begun = True


class UsageOfSources:
    """Usage as the wire and the stream tell it, apart."""

    def __init__(self) -> None:
        self._sums = {source: UsageSum() for source in (Source.WIRE, Source.STREAM)}

    def add(self, event: TraceEvent) -> None:
        """Take in an event, whatever its kind."""
        if event.kind is Kind.USAGE and event.source in self._sums:
            self._sums[event.source].add(event)

    def told(self) -> tuple[Usage | None, Source | None, float | None]:
        """Tokens, who told them, and their cost; the wire is believed before the stream."""
        for source, told in self._sums.items():
            if told.tokens is not None:
                return told.tokens, source, told.cost_usd
        return None, None, None


class Tally:
    """Counts events while they are written."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.failed_commands = 0
        self.usage = UsageOfSources()

    def add(self, told: Mapping[str, Any]) -> None:
        """Take in an event as it lies in the trace."""
        kind = told["kind"]
        self.kinds[kind] += 1
        self.failed_commands += kind == Kind.TOOL_END and bool(told.get("exit_code"))
        if kind == Kind.USAGE:
            self.usage.add(TraceEvent.model_validate(told))


def _plus(one: Usage | None, other: Usage | None) -> Usage | None:
    if one is None or other is None:
        return one or other
    left, right = one.model_dump(), other.model_dump()
    return Usage(**{key: _sum(left[key], right[key]) for key in left})


def _sum(one: int | None, other: int | None) -> int | None:
    return (one or 0) + (other or 0) if one is not None or other is not None else None
