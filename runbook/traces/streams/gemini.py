"""`gemini -o stream-json`: messages in pieces, tool calls and results; no reasoning, no exit codes."""

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.streams.protocol import Record, ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import TEXT_CHARACTERS, mapping, said, whole


class GeminiStream:
    """Pieces of an assistant's message are put together until something else comes."""

    def __init__(self) -> None:
        self._calls = ToolCalls()
        self._pieces: list[str] = []
        self._length = 0
        self._at: float | None = None

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        kind = record.get("type")
        if kind == "message" and record.get("role") == "assistant":
            return self._piece(record, at)
        told = self._told(record, kind, at)
        return None if told is None else [*self.finish(), *told]

    def finish(self) -> list[TraceEvent]:
        if not self._pieces:
            return []
        message = text_event(Kind.MESSAGE, "".join(self._pieces), self._at, role="assistant")
        self._pieces, self._length = [], 0
        return [message]

    def _piece(self, record: Record, at: float | None) -> list[TraceEvent]:
        done = [] if record.get("delta") is True else self.finish()
        text = said(record.get("content"))
        if self._length <= TEXT_CHARACTERS:
            self._pieces.append(text)
            self._length += len(text)
        self._at = at
        return done

    def _told(self, record: Record, kind: object, at: float | None) -> list[TraceEvent] | None:
        match kind:
            case "init":
                facts = {"session": record.get("session_id"), "model": record.get("model")}
                return [lifecycle("init", at, **facts)]
            case "message":
                return [text_event(Kind.MESSAGE, said(record.get("content")), at, role="user")]
            case "tool_use":
                call, tool = record.get("tool_id"), record.get("tool_name")
                return [self._calls.started(call, tool, record.get("parameters"), at)]
            case "tool_result":
                return [self._result(record, at)]
            case "error":
                return [text_event(Kind.ERROR, record.get("message"), at)]
            case "result":
                return _end(record, at)
        return None

    def _result(self, record: Record, at: float | None) -> TraceEvent:
        broken = record.get("status") == "error"
        text = said(record.get("output")) or said(mapping(record.get("error")).get("message"))
        # Success is told for every exit code, so it says nothing of the command.
        return self._calls.ended(record.get("tool_id"), text, at, failed=True if broken else None)


def _end(record: Record, at: float | None) -> list[TraceEvent]:
    error = mapping(record.get("error"))
    failed = record.get("status") == "error"
    errors = [text_event(Kind.ERROR, error.get("message"), at)] if failed else []
    usage = TraceEvent(
        kind=Kind.USAGE, source=Source.STREAM, at=at, scope="run", tokens=_usage(mapping(record.get("stats")))
    )
    return [*errors, usage, lifecycle("result", at, status=record.get("status"))]


def _usage(stats: Record) -> Usage:
    """Input holds cached tokens; output is told without thoughts, which only the total counts."""
    total, given = whole(stats.get("total_tokens")), whole(stats.get("input_tokens"))
    answer, read = whole(stats.get("output_tokens")), whole(stats.get("cached"))
    thoughts = None if total is None or given is None or answer is None else max(0, total - given - answer)
    return Usage(
        fresh_input=None if given is None else max(0, given - (read or 0)),
        cache_read=read,
        output=None if answer is None else answer + (thoughts or 0),
        reasoning=thoughts,
    )
