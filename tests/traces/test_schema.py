"""A trace is written whole, in the documented schema."""

from pathlib import Path

import orjson
import pytest

from runbook.traces import TraceEvent, schema, write_trace


def test_the_schema_describes_every_field_of_an_event() -> None:
    described = schema()
    assert set(described["properties"]) == set(TraceEvent.model_fields)
    assert set(described["required"]) == {"kind", "source"}
    assert described["additionalProperties"] is False


def test_a_trace_holds_only_what_its_events_say(attempt) -> None:
    attempt.prints({"type": "turn.started"})
    attempt.traced("codex", agent="codex", version="1.0", model="m")
    lines = [orjson.loads(line) for line in (attempt.path / "trace.jsonl").read_bytes().splitlines()]
    assert lines == [
        {
            "kind": "lifecycle",
            "source": "controller",
            "at": 0.0,
            "text": "attempt",
            "facts": {
                "agent": "codex",
                "version": "1.0",
                "model": "m",
                "started_at": "2026-01-02T03:04:05.000+00:00",
            },
        },
        {"kind": "lifecycle", "source": "stream", "at": 1.0, "text": "turn.started"},
    ]


def test_a_trace_replaces_the_earlier_one_and_leaves_nothing_else(attempt) -> None:
    attempt.prints({"type": "turn.started"})
    attempt.traced("codex")
    first = (attempt.path / "trace.jsonl").read_bytes()
    attempt.traced("codex")
    assert (attempt.path / "trace.jsonl").read_bytes() == first
    assert {file.name for file in attempt.path.iterdir()} == {"stdout", "stdout.times", "trace.jsonl"}


def test_a_time_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="yesterday"):
        write_trace(tmp_path, stream="", agent="a", started_at="yesterday")
    assert list(tmp_path.iterdir()) == []
