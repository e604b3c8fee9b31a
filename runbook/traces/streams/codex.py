"""`codex exec --json`: threads, turns and items; neither times nor ids that the wire knows."""

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.streams.protocol import Record, ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import integer, mapping, name, said, whole

_SHELL = "exec_command"


class CodexStream:
    """Items are told by `item.started` and `item.completed`; an error item is a warning, not a failure."""

    def __init__(self) -> None:
        self._calls = ToolCalls()

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        match record.get("type"):
            case "thread.started":
                return [lifecycle("thread.started", at, session=record.get("thread_id"))]
            case "turn.started" as started:
                return [lifecycle(started, at)]
            case "turn.completed" as completed:
                return [_usage(record, at), lifecycle(completed, at)]
            case "turn.failed" as failed:
                error = mapping(record.get("error")).get("message")
                return [text_event(Kind.ERROR, error, at), lifecycle(failed, at)]
            case "error":
                return [_error(record, at)]
            case "item.started" | "item.updated" | "item.completed" as step:
                return self._item(mapping(record.get("item")), str(step), at)
        return None

    def finish(self) -> list[TraceEvent]:
        return []

    def _item(self, item: Record, step: str, at: float | None) -> list[TraceEvent] | None:
        match item.get("type"):
            case "command_execution":
                return self._command(item, step, at)
            case "mcp_tool_call" | "web_search" | "file_change" | "collab_tool_call" as tool:
                return self._tool(item, str(tool), step, at)
            case "reasoning":
                return [text_event(Kind.REASONING, item.get("text"), at)] if _done(step) else []
            case "agent_message":
                message = text_event(Kind.MESSAGE, item.get("text"), at, role="assistant")
                return [message] if _done(step) else []
            case "error":
                return [lifecycle("warning", at, message=item.get("message"))] if _done(step) else []
            case "todo_list":
                return []
        return None

    def _command(self, item: Record, step: str, at: float | None) -> list[TraceEvent]:
        starts = self._start(item, _SHELL, item.get("command"), at)
        if not _done(step):
            return starts
        code = integer(item.get("exit_code"))
        end = self._calls.ended(
            item.get("id"),
            said(item.get("aggregated_output")),
            at,
            exit_code=code,
            failed=item.get("status") == "failed" or bool(code),
        )
        return [*starts, end]

    def _tool(self, item: Record, tool: str, step: str, at: float | None) -> list[TraceEvent]:
        asked = item.get("arguments") or {key: item[key] for key in ("query", "changes") if key in item}
        starts = self._start(item, name(item.get("tool")) or tool, asked, at)
        if not _done(step):
            return starts
        output = said(mapping(item.get("result")).get("content"))
        return [*starts, self._calls.ended(item.get("id"), output, at, failed=item.get("status") == "failed")]

    def _start(self, item: Record, tool: str, arguments: object, at: float | None) -> list[TraceEvent]:
        if self._calls.is_open(item.get("id")):
            return []
        return [self._calls.started(item.get("id"), tool, arguments, at)]


def _done(step: str) -> bool:
    return step == "item.completed"


def _error(record: Record, at: float | None) -> TraceEvent:
    """`Reconnecting... 1/5 (...)` tells of a retry: nothing has failed for good."""
    told = name(record.get("message"))
    kind = Kind.RETRY if told.startswith("Reconnecting...") else Kind.ERROR
    return text_event(kind, record.get("message"), at)


def _usage(record: Record, at: float | None) -> TraceEvent:
    """Cached tokens are part of the input, and reasoning is part of the output."""
    told = mapping(record.get("usage"))
    total, read = whole(told.get("input_tokens")), whole(told.get("cached_input_tokens"))
    write = whole(told.get("cache_write_input_tokens"))
    fresh = None if total is None else max(0, total - (read or 0) - (write or 0))
    tokens = Usage(
        fresh_input=fresh,
        cache_read=read,
        cache_write=write,
        output=whole(told.get("output_tokens")),
        reasoning=whole(told.get("reasoning_output_tokens")),
    )
    return TraceEvent(kind=Kind.USAGE, source=Source.STREAM, at=at, scope="turn", tokens=tokens)
