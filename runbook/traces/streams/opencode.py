"""`opencode run --format json`: parts of messages, each told when it is done."""

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.streams.protocol import Record, ToolCalls, text_event
from runbook.traces.untrusted_json import amount, integer, mapping, name, said, whole


class OpencodeStream:
    """A tool call is one record, at its end, with its own begin and end in milliseconds."""

    def __init__(self) -> None:
        self._calls = ToolCalls()

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        part = mapping(record.get("part"))
        response = name(part.get("messageID"))
        match record.get("type"):
            case "step_start":
                return []
            case "reasoning":
                return [text_event(Kind.REASONING, part.get("text"), at, response=response)]
            case "text":
                return [text_event(Kind.MESSAGE, part.get("text"), at, role="assistant", response=response)]
            case "tool_use":
                return self._tool(part, response, at)
            case "step_finish":
                return [_usage(part, response, at)]
            case "error":
                return [_error(mapping(record.get("error")), at)]
        return None

    def finish(self) -> list[TraceEvent]:
        return []

    def _tool(self, part: Record, response: str, at: float | None) -> list[TraceEvent]:
        state = mapping(part.get("state"))
        metadata = mapping(state.get("metadata"))
        seconds = _seconds(mapping(state.get("time")))
        begun = at if at is None or seconds is None else max(0.0, at - seconds)
        call = part.get("callID")
        start = self._calls.started(call, part.get("tool"), state.get("input"), begun, response=response)
        broken = state.get("status") == "error"
        code = integer(metadata.get("exit"))
        cut = metadata.get("truncated")
        end = self._calls.ended(
            call,
            said(state.get("error") if broken else state.get("output")),
            at,
            exit_code=code,
            failed=broken or bool(code),
            truncated=cut if isinstance(cut, bool) else None,
            duration=seconds,
        )
        return [start, end]


def _seconds(time: Record) -> float | None:
    begin, end = amount(time.get("start")), amount(time.get("end"))
    return None if begin is None or end is None else max(0.0, (end - begin) / 1000)


def _usage(part: Record, response: str, at: float | None) -> TraceEvent:
    """Input is told without cached tokens, output without reasoning."""
    told = mapping(part.get("tokens"))
    cache = mapping(told.get("cache"))
    output, reasoning = whole(told.get("output")), whole(told.get("reasoning"))
    tokens = Usage(
        fresh_input=whole(told.get("input")),
        cache_read=whole(cache.get("read")),
        cache_write=whole(cache.get("write")),
        output=None if output is None else output + (reasoning or 0),
        reasoning=reasoning,
    )
    return TraceEvent(
        kind=Kind.USAGE,
        source=Source.STREAM,
        at=at,
        response=response,
        scope="call",
        tokens=tokens,
        cost_usd=amount(part.get("cost")),
    )


def _error(error: Record, at: float | None) -> TraceEvent:
    data = mapping(error.get("data"))
    text = said(data.get("message")) or said(error.get("name"))
    return text_event(Kind.ERROR, text, at, status=integer(data.get("statusCode")))
