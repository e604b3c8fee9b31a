"""Whatever an agent prints makes a trace: nothing raises, nothing is lost uncounted."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook.gateway import load_calls
from runbook.traces import Kind, TraceError, read_trace, to_atif, write_trace
from runbook.traces.reading import StreamReader
from runbook.traces.streams import STREAMS

STARTED_AT = "2026-01-02T03:04:05+00:00"

CODEX_END = {
    "type": "item.completed",
    "item": {
        "id": "i",
        "type": "command_execution",
        "command": "bash -lc ls",
        "aggregated_output": "x",
        "exit_code": 0,
    },
}
PI_END = {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "result": {"content": []}}
RECORDS = [
    CODEX_END,
    PI_END,
    {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 5, "output_tokens": 1}},
    {
        "type": "assistant",
        "message": {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "Bash"}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": []}]}},
    {"type": "result", "is_error": True, "result": "API Error", "usage": {"input_tokens": 1}},
    {"type": "tool_use", "part": {"callID": "c", "tool": "bash", "state": {"time": {"start": 1, "end": 2}}}},
    {"type": "step_finish", "part": {"tokens": {"input": 1, "cache": {"read": 2}}, "cost": 0.5}},
    {"type": "message", "role": "assistant", "content": "a", "delta": True},
    {"type": "tool_result", "tool_id": "t", "status": "success", "output": "x"},
    {"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "a"}]}},
    {"type": "model", "id": "1", "text": "a", "usage": {"fresh_input": 1}},
    {"type": "tool_end", "id": "c", "output": "x", "output_bytes": 9, "seconds": 1},
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def trace(stream: str, data: bytes, folder: Path):
    (folder / "stdout").write_bytes(data)
    summary = write_trace(folder, stream=stream, agent="a", started_at=STARTED_AT)
    events = list(read_trace(folder / "trace.jsonl"))
    assert summary.events == len(events)
    to_atif(folder)
    return summary, events


@settings(max_examples=80, deadline=None)
@given(stream=st.sampled_from([*STREAMS, "", "mini-swe-agent"]), data=st.binary(max_size=300))
def test_arbitrary_bytes_are_read_to_their_end(stream: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        summary, events = trace(stream, data, Path(folder))
    lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    assert summary.stream_lines == (lines if stream in STREAMS else 0)
    assert events[0].kind is Kind.LIFECYCLE


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_record_does_not_hide_the_next(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from(RECORDS))
    line = json.dumps(_damaged(record, data)).encode() + b"\n"
    with TemporaryDirectory() as folder:
        stream = data.draw(st.sampled_from(sorted(STREAMS)))
        alone, _ = trace(stream, orjson.dumps(record) + b"\n", Path(folder))
        summary, _ = trace(stream, line + orjson.dumps(record) + b"\n" + line, Path(folder))
    assert summary.stream_lines == 3
    assert summary.events >= alone.events


@settings(max_examples=80, deadline=None)
@given(
    stream=st.sampled_from(sorted(STREAMS)),
    order=st.permutations(RECORDS),
    cut=st.integers(min_value=1, max_value=60),
)
def test_truncated_and_reordered_lines_are_counted(
    stream: str, order: list[dict[str, object]], cut: int
) -> None:
    data = b"".join(orjson.dumps(record) + b"\n" for record in order)[:-cut]
    with TemporaryDirectory() as folder:
        summary, events = trace(stream, data, Path(folder))
    assert summary.stream_lines == data.count(b"\n") + (not data.endswith(b"\n"))
    assert summary.kinds.get("unknown", 0) == sum(summary.unknown_lines.values())
    assert all(event.at is None or event.at == 0.0 for event in events)


def test_unknown_events_are_kept_raw_and_counted_by_type(attempt) -> None:
    attempt.prints({"type": "new.thing", "x": 1}, {"type": "new.thing"}, b"warning: no json\n", b"\n", [1])
    raw = [e.raw for e in attempt.traced("codex") if e.kind is Kind.UNKNOWN]
    assert raw == ['{"type":"new.thing","x":1}', '{"type":"new.thing"}', "warning: no json", "[1]"]
    assert attempt.summary.unknown_lines == {"new.thing": 2, "": 2}
    assert attempt.summary.quiet_lines == 1


def test_a_raw_line_is_cut(attempt) -> None:
    attempt.prints(b"\xff" * 100_000 + b"\n")
    [event] = [e for e in attempt.traced("pi") if e.kind is Kind.UNKNOWN]
    assert len(event.raw) < 3000


def test_half_a_surrogate_pair_is_not_the_end_of_a_line(attempt) -> None:
    """JavaScript writes it where it cuts a text in the middle of a character."""
    attempt.prints(b'{"type":"tool_result","tool_id":"t","status":"success","output":"cut \\ud83d"}\n')
    [event] = [e for e in attempt.traced("gemini") if e.kind is Kind.TOOL_END]
    assert event.output == "cut ?"


def test_invalid_utf_8_inside_json_is_replaced(attempt) -> None:
    attempt.prints(b'{"type":"tool_result","tool_id":"t","status":"success","output":"\xff"}\n')
    [event] = [e for e in attempt.traced("gemini") if e.kind is Kind.TOOL_END]
    assert event.output == "\ufffd"


@pytest.mark.parametrize("line", [b'{"type":' * 5000, b'{"a":' + b"[" * 5000, b'{"n":' + b"9" * 9000 + b"}"])
def test_deep_and_huge_json_is_unknown(attempt, line: bytes) -> None:
    attempt.prints(line + b"\n", {"type": "turn.started"})
    kinds = [event.kind for event in attempt.traced("codex")]
    assert kinds == [Kind.LIFECYCLE, Kind.UNKNOWN, Kind.LIFECYCLE]


def test_a_line_of_megabytes_keeps_its_size_and_an_excerpt(attempt) -> None:
    output = "a" * 3_000_000
    attempt.prints({"type": "tool_result", "tool_id": "t", "status": "success", "output": output})
    [event] = [e for e in attempt.traced("gemini") if e.kind is Kind.TOOL_END]
    assert event.output_bytes == 3_000_000
    assert len(event.output) < 10_000
    assert "characters left out" in event.output


def test_a_line_beyond_the_limit_is_unknown_and_the_next_is_read(attempt) -> None:
    attempt.prints({"type": "turn.started", "x": "y" * 5000}, {"type": "turn.started"})
    reader = StreamReader(attempt.path, "codex", line_bytes=1024)
    assert [event.kind for event in reader.events()] == [Kind.UNKNOWN, Kind.LIFECYCLE]
    assert reader.lines == 2


def test_an_error_that_is_told_twice_is_one_error(attempt) -> None:
    failed = {"type": "turn.failed", "error": {"message": "no"}}
    attempt.prints({"type": "error", "message": "no"}, failed, {"type": "error", "message": "other"})
    assert [e.text for e in attempt.traced("codex") if e.kind is Kind.ERROR] == ["no", "other"]


def test_a_trajectory_file_that_is_a_link_is_not_followed(attempt, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"messages": [{"role": "user", "content": "secret"}]}')
    (attempt.path / "traj.json").symlink_to(outside)
    assert [e.text for e in attempt.traced("mini-swe-agent")] == ["attempt"]


def _damaged(record: dict[str, object], data: st.DataObject) -> dict[str, object]:
    """The record with one field, at any depth, replaced by anything."""
    copy = json.loads(json.dumps(record))
    place = copy
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        inner = place[key]
        if not isinstance(inner, dict) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(json_values)
            return copy
        place = inner


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(attempt) -> None:
    attempt.prints({"type": "end"}).calls(1.0).traced("react")
    for name in ("stdout", "stdout.times", "model_calls.jsonl", "trace.jsonl"):
        (attempt.path / name).unlink()
        os.mkfifo(attempt.path / name)
    with pytest.raises(OSError, match="a pipe"):
        list(StreamReader(attempt.path, "react").events())
    with pytest.raises(OSError, match="a pipe"):
        load_calls(attempt.path)
    with pytest.raises(TraceError, match="a pipe"):
        to_atif(attempt.path)
