"""Builders of what an attempt leaves behind: a stream, its stamps and its model calls."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from runbook.gateway.records import ModelCall, ToolCall, ToolResult, Usage, Wire
from runbook.traces import ArrivalLog, TraceEvent, TraceSummary, read_trace, write_trace

STARTED_AT = "2026-01-02T03:04:05.000+00:00"


class AttemptFolder:
    """An attempt's folder that is filled and then traced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.summary = TraceSummary()
        self._calls: list[ModelCall] = []

    def prints(self, *records: object, seconds_each: float = 1.0) -> "AttemptFolder":
        """Stdout: a record a line, bytes as they are, stamped one after the other."""
        with (self.path / "stdout").open("wb") as file, ArrivalLog(self.path / "stdout.times") as log:
            for number, record in enumerate(records, start=1):
                file.write(record if isinstance(record, bytes) else orjson.dumps(record) + b"\n")
                log.note(file.tell(), number * seconds_each)
        return self

    def calls(
        self,
        at: float,
        *,
        asks: Iterable[ToolCall] = (),
        gives: Iterable[ToolResult] = (),
        seconds: float = 0.5,
        **fields: Any,
    ) -> "AttemptFolder":
        """One model call, `at` seconds into the attempt."""
        moment = datetime.fromisoformat(STARTED_AT) + timedelta(seconds=at)
        told: dict[str, Any] = {
            "number": len(self._calls) + 1,
            "wire": Wire.OPENAI_CHAT,
            "provider": "bench",
            "method": "POST",
            "path": "/v1/chat/completions",
            "requested_at": moment.astimezone(UTC).isoformat(timespec="milliseconds"),
            "first_byte_seconds": seconds / 2,
            "last_byte_seconds": seconds,
            "status": 200,
            "actual_model": "m-1",
            "usage": Usage(fresh_input=100, cache_read=10, output=5),
            "cost_usd": 0.01,
        }
        call = ModelCall(**(told | fields), tool_calls=list(asks), tool_results=list(gives))
        self._calls.append(call)
        with (self.path / "model_calls.jsonl").open("ab") as file:
            file.write(call.model_dump_json().encode() + b"\n")
        return self

    def traced(self, stream: str, **options: Any) -> list[TraceEvent]:
        """Write the trace and read it back."""
        self.summary = write_trace(
            self.path, **({"stream": stream, "agent": "tester", "started_at": STARTED_AT} | options)
        )
        return list(read_trace(self.path / "trace.jsonl"))


@pytest.fixture
def attempt(tmp_path: Path) -> AttemptFolder:
    return AttemptFolder(tmp_path / "question" / "attempts" / "1")


@pytest.fixture
def bash() -> Callable[..., ToolCall]:
    """A wire's call of the tool `bash`."""

    def make(call_id: str, command: str, tool: str = "bash", key: str = "command") -> ToolCall:
        return ToolCall(id=call_id, name=tool, arguments=orjson.dumps({key: command}).decode())

    return make
