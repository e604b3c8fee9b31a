"""`react`, our own tool loop: see `runbook/agents/react/events.md`."""

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.streams.protocol import Record, ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import amount, integer, mapping, name, said, size, whole

_FRESH, _READ, _WRITE, _OUTPUT, _REASONING = (
    "fresh_input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
)


class ReactStream:
    """One `model` event a model call; the final `message` repeats the last one's text."""

    def __init__(self) -> None:
        self._calls = ToolCalls()
        self._response = ""
        self._said = ""

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        match record.get("type"):
            case "start":
                return [lifecycle("start", at, model=record.get("model"), wire=record.get("wire"))]
            case "model":
                return self._model(record, at)
            case "tool_start":
                asked = record.get("command")
                start = self._calls.started(
                    record.get("id"), record.get("name"), asked, at, response=self._response
                )
                return [start]
            case "tool_end":
                return [self._end(record, at)]
            case "message":
                text = said(record.get("text"))
                again = text == self._said
                return [] if again else [text_event(Kind.MESSAGE, text, at, role="assistant")]
            case "error":
                status = integer(record.get("status"))
                return [text_event(Kind.ERROR, record.get("message"), at, status=status)]
            case "end":
                return [lifecycle("end", at, reason=record.get("reason"))]
        return None

    def finish(self) -> list[TraceEvent]:
        return []

    def _model(self, record: Record, at: float | None) -> list[TraceEvent]:
        self._response, self._said = name(record.get("id")), said(record.get("text"))
        reasoning, told = said(record.get("reasoning")), mapping(record.get("usage"))
        events = []
        if reasoning:
            events.append(text_event(Kind.REASONING, reasoning, at, response=self._response))
        if self._said:
            message = text_event(Kind.MESSAGE, self._said, at, role="assistant", response=self._response)
            events.append(message)
        tokens = Usage(
            fresh_input=whole(told.get(_FRESH)),
            cache_read=whole(told.get(_READ)),
            cache_write=whole(told.get(_WRITE)),
            output=whole(told.get(_OUTPUT)),
            reasoning=whole(told.get(_REASONING)),
        )
        usage = TraceEvent(
            kind=Kind.USAGE,
            source=Source.STREAM,
            at=at,
            response=self._response,
            scope="call",
            duration=amount(record.get("seconds")),
            tokens=tokens if told else None,
            model=name(record.get("model")),
        )
        return [*events, usage]

    def _end(self, record: Record, at: float | None) -> TraceEvent:
        output, printed = said(record.get("output")), whole(record.get("output_bytes"))
        told = record.get("is_error")
        end = self._calls.ended(
            record.get("id"),
            output,
            at,
            tool=record.get("name"),
            exit_code=integer(record.get("exit_code")),
            failed=told if isinstance(told, bool) else None,
            truncated=None if printed is None else printed > size(output),
            duration=amount(record.get("seconds")),
        )
        return end if printed is None else end.model_copy(update={"output_bytes": printed})
