"""Events from the record of the model traffic, where every agent's commands and results are visible."""

from collections import defaultdict, deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from runbook.files import open_regular
from runbook.gateway.records import ModelCall, ToolCall, ToolResult
from runbook.traces.commands import arguments_text, command_of, parsed_arguments
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.exit_codes import told_exit_code
from runbook.traces.lines import read_lines
from runbook.traces.untrusted_json import OUTPUT_CHARACTERS, excerpt, name, size

MODEL_CALLS = "model_calls.jsonl"
_CLAUDE = frozenset({"claude", "claude-code"})
_TRUNCATION_MARKS = (
    "tokens truncated",
    "<persisted-output>",
    "Output too large",
    "output truncated",
    '"elided_chars"',
    "characters left out",
    "[truncated",
    "... [CONTENT TRUNCATED] ...",
)


class WireReader:
    """Reads one attempt's model calls. Raises for nothing that is in them."""

    def __init__(self, folder: Path, stream: str, started_at: datetime) -> None:
        """`stream` is the agent's parser, which says how it tells exit codes; "" tries them all."""
        self._path = folder / MODEL_CALLS
        self._stream = stream
        self._started_at = started_at
        self._asked: defaultdict[str, deque[TraceEvent]] = defaultdict(deque)
        self._latest: deque[TraceEvent] = deque()
        """Calls of the latest response that asked for any, as long as they wait for a result."""
        self.calls = 0
        self.damaged_lines = 0

    def events(self) -> Iterator[TraceEvent]:
        """Events call by call, each call's results first. Raises OSError where the file cannot be read."""
        if not self._path.exists():
            return
        with open_regular(self._path) as file:
            for line in read_lines(file):
                call = self._call(line.data)
                if call is not None and call.wire is not None:
                    self.calls += 1
                    yield from self._told(call)

    def _call(self, line: bytes) -> ModelCall | None:
        try:
            return ModelCall.model_validate_json(line)
        except ValidationError:
            self.damaged_lines += bool(line.strip())
            return None

    def _told(self, call: ModelCall) -> Iterator[TraceEvent]:
        begin = self._at(call.requested_at)
        seconds = call.last_byte_seconds or call.first_byte_seconds
        end = None if begin is None else begin + (seconds or 0.0)
        response = f"call {call.number}"
        for result in call.tool_results:
            yield self._result(result, begin)
        if call.retries:
            yield _event(Kind.RETRY, end, response, text=f"{call.retries} further tries", status=call.status)
        if call.reasoning:
            yield _event(Kind.REASONING, end, response, text=excerpt(call.reasoning))
        if call.text:
            yield _event(Kind.MESSAGE, end, response, text=excerpt(call.text), role="assistant")
        self._latest = deque() if call.tool_calls else self._latest
        for asked in call.tool_calls:
            yield self._start(asked, end, response)
        if call.outcome is not None or call.cut:
            why = call.detail or (call.outcome.value if call.outcome else "the answer was cut off")
            yield _event(Kind.ERROR, end, response, text=excerpt(why), status=call.status)
        yield _event(
            Kind.USAGE,
            end,
            response,
            scope="call",
            tokens=call.usage,
            cost_usd=call.cost_usd,
            duration=call.last_byte_seconds,
            first_byte=call.first_byte_seconds,
            model=name(call.actual_model or call.requested_model),
            status=call.status,
        )

    def _start(self, asked: ToolCall, at: float | None, response: str) -> TraceEvent:
        arguments = parsed_arguments(asked.arguments)
        command = command_of(arguments)
        event = _event(
            Kind.TOOL_START,
            at,
            response,
            call_id=name(asked.id),
            tool=name(asked.name),
            command=command.text,
            raw_command=command.raw,
            arguments="" if command.text else arguments_text(asked.arguments),
        )
        self._asked[event.call_id].append(event)
        self._latest.append(event)
        return event

    def _result(self, result: ToolResult, at: float | None) -> TraceEvent:
        start = self._answered(name(result.id))
        shell = start is None or bool(start.command)
        code = told_exit_code(result.text, self._stream, shell=shell)
        if code is None and self._stream in _CLAUDE and start and start.tool == "Bash":
            code = 0 if result.is_error is False else None
        began = start.at if start else None
        return _event(
            Kind.TOOL_END,
            at,
            start.response if start else "",
            call_id=start.call_id if start else name(result.id),
            tool=start.tool if start else "",
            command=start.command if start else "",
            raw_command=start.raw_command if start else "",
            arguments=start.arguments if start else "",
            exit_code=code,
            failed=True if code else result.is_error,
            output=excerpt(result.text, OUTPUT_CHARACTERS),
            shown_bytes=size(result.text),
            truncated=True if any(mark in result.text for mark in _TRUNCATION_MARKS) else None,
            duration=None if at is None or began is None else max(0.0, at - began),
        )

    def _answered(self, identity: str) -> TraceEvent | None:
        """The call that a result belongs to.

        A protocol without ids leaves it to agents to make some up: then results come in the calls' order.
        """
        if identity not in self._asked:
            if not self._latest:
                return None
            identity = self._latest[0].call_id
        start = self._asked[identity].popleft()
        if not self._asked[identity]:
            del self._asked[identity]
        if start in self._latest:
            self._latest.remove(start)
        return start

    def _at(self, requested_at: str) -> float | None:
        try:
            moment = datetime.fromisoformat(requested_at)
            return max(0.0, (moment - self._started_at).total_seconds())
        except (ValueError, TypeError, OverflowError):
            return None


def _event(kind: Kind, at: float | None, response: str, **fields: object) -> TraceEvent:
    return TraceEvent.model_validate(
        {"kind": kind, "source": Source.WIRE, "at": at, "response": response, **fields}
    )
