"""`pi --mode json`: every message is repeated whole several times; only its end counts."""

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.exit_codes import told_exit_code
from runbook.traces.streams.protocol import Record, ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import items, mapping, name, said, whole

_REPEATED = frozenset({"turn_start", "turn_end", "message_start", "message_update", "tool_execution_update"})
_LIFE = frozenset({"agent_start", "agent_end", "compaction_start", "compaction_end"})


class PiStream:
    """An error is an assistant message that stopped for one."""

    def __init__(self) -> None:
        self._calls = ToolCalls()
        self._response = ""

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        kind = name(record.get("type"))
        if kind in _REPEATED:
            return []
        if kind in _LIFE:
            return [lifecycle(kind, at, reason=record.get("reason"))]
        match kind:
            case "session":
                return [lifecycle("session", at, session=record.get("id"))]
            case "message_end":
                return self._message(mapping(record.get("message")), at)
            case "tool_execution_start":
                call, tool = record.get("toolCallId"), record.get("toolName")
                return [self._calls.started(call, tool, record.get("args"), at, response=self._response)]
            case "tool_execution_end":
                return [self._end(record, at)]
            case "auto_retry_start":
                return [text_event(Kind.RETRY, record.get("errorMessage"), at)]
            case "auto_retry_end":
                failed = record.get("success") is False
                return [text_event(Kind.ERROR, record.get("finalError"), at)] if failed else []
        return None

    def finish(self) -> list[TraceEvent]:
        return []

    def _message(self, message: Record, at: float | None) -> list[TraceEvent]:
        match message.get("role"):
            case "user":
                return [text_event(Kind.MESSAGE, said(message.get("content")), at, role="user")]
            case "assistant":
                return self._assistant(message, at)
        return []

    def _assistant(self, message: Record, at: float | None) -> list[TraceEvent]:
        self._response = name(message.get("responseId"))
        events = []
        for block in map(mapping, items(message.get("content"))):
            if block.get("type") == "thinking":
                said_so = block.get("thinking")
                events.append(text_event(Kind.REASONING, said_so, at, response=self._response))
            elif block.get("type") == "text":
                text = block.get("text")
                events.append(text_event(Kind.MESSAGE, text, at, role="assistant", response=self._response))
        if message.get("stopReason") == "error":
            return [*events, text_event(Kind.ERROR, message.get("errorMessage"), at)]
        return [*events, self._usage(message, at)]

    def _end(self, record: Record, at: float | None) -> TraceEvent:
        told = record.get("isError")
        failed = told if isinstance(told, bool) else None
        text = said(mapping(record.get("result")).get("content"))
        end = self._calls.ended(
            record.get("toolCallId"), text, at, tool=record.get("toolName"), failed=failed
        )
        if end.tool != "bash" or failed is None:
            return end
        return end.model_copy(update={"exit_code": told_exit_code(text, "pi") if failed else 0})

    def _usage(self, message: Record, at: float | None) -> TraceEvent:
        told = mapping(message.get("usage"))
        tokens = Usage(
            fresh_input=whole(told.get("input")),
            cache_read=whole(told.get("cacheRead")),
            cache_write=whole(told.get("cacheWrite")),
            output=whole(told.get("output")),
        )
        return TraceEvent(
            kind=Kind.USAGE,
            source=Source.STREAM,
            at=at,
            response=self._response,
            scope="call",
            tokens=tokens,
            model=name(message.get("model")),
        )
