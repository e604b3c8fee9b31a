"""What a parser of an agent's output is, and the tool calls that it keeps in mind."""

from collections.abc import Mapping
from typing import Any, Protocol

from runbook.traces.commands import arguments_text, command_of
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.untrusted_json import OUTPUT_CHARACTERS, excerpt, name, size

OPEN_CALLS = 1000
"""Calls kept in mind while they run; the oldest are forgotten first."""

Record = Mapping[str, Any]


class StreamParser(Protocol):
    """Reads one attempt's stream, object by object. Nothing in a record may make it raise."""

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        """What a record tells: nothing new is an empty list, a record of no known shape is None."""
        ...

    def finish(self) -> list[TraceEvent]:
        """What was still being collected when the stream ended."""
        ...


class ToolCalls:
    """Tool calls under way: their ends repeat what was asked for, and how long it took."""

    def __init__(self) -> None:
        self._open: dict[str, TraceEvent] = {}

    def started(
        self,
        call_id: object,
        tool: object,
        arguments: object,
        at: float | None,
        *,
        response: str = "",
    ) -> TraceEvent:
        """The start of a call; `arguments` as the agent tells them: an object, a command, an argv."""
        command = command_of(arguments)
        event = TraceEvent(
            kind=Kind.TOOL_START,
            source=Source.STREAM,
            at=at,
            response=response,
            call_id=name(call_id),
            tool=name(tool),
            command=command.text,
            raw_command=command.raw,
            arguments="" if command.text else arguments_text(arguments),
        )
        self._open.pop(event.call_id, None)
        self._open[event.call_id] = event
        if len(self._open) > OPEN_CALLS:
            del self._open[next(iter(self._open))]
        return event

    def ended(
        self,
        call_id: object,
        output: str | None,
        at: float | None,
        *,
        tool: object = "",
        exit_code: int | None = None,
        failed: bool | None = None,
        truncated: bool | None = None,
        duration: float | None = None,
    ) -> TraceEvent:
        """The end of a call; where its start was never told, what the end says of it is all there is."""
        start = self._open.pop(name(call_id), None)
        return TraceEvent(
            kind=Kind.TOOL_END,
            source=Source.STREAM,
            at=at,
            response=start.response if start else "",
            call_id=name(call_id),
            tool=(start.tool if start else "") or name(tool),
            command=start.command if start else "",
            raw_command=start.raw_command if start else "",
            arguments=start.arguments if start else "",
            exit_code=exit_code,
            failed=True if exit_code else failed,
            output=excerpt(output, OUTPUT_CHARACTERS),
            output_bytes=None if output is None else size(output),
            truncated=truncated,
            duration=_elapsed(start.at if start else None, at) if duration is None else duration,
        )

    def is_open(self, call_id: object) -> bool:
        return name(call_id) in self._open


def _elapsed(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else max(0.0, end - begin)


def text_event(kind: Kind, text: object, at: float | None, **fields: Any) -> TraceEvent:
    """A message, reasoning, error or retry."""
    return TraceEvent(kind=kind, source=Source.STREAM, at=at, text=excerpt(text), **fields)


def lifecycle(what: str, at: float | None, **facts: object) -> TraceEvent:
    """A point in the agent's life, with the facts that are texts."""
    told = {key: name(value) for key, value in facts.items() if name(value)}
    return TraceEvent(kind=Kind.LIFECYCLE, source=Source.STREAM, at=at, text=name(what), facts=told)
