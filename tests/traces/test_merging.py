"""The stream and the wire tell of the same calls; the trace tells of each once."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook.gateway.records import ToolCall, ToolResult, Usage, Wire
from runbook.outcomes import Outcome
from runbook.traces import Kind, Source, TraceEvent
from runbook.traces.matching import Ledger, pairs

Bash = Callable[..., ToolCall]


def qwen_call(call_id: str, command: str) -> dict[str, object]:
    block = {"type": "tool_use", "id": call_id, "name": "run_shell_command", "input": {"command": command}}
    return {"type": "assistant", "message": {"content": [block]}}


def qwen_result(call_id: str, text: str) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": call_id, "is_error": False, "content": text}
    return {"type": "user", "message": {"content": [block]}}


def test_the_wire_adds_the_exit_code_that_the_stream_hides(attempt, bash: Bash) -> None:
    attempt.prints(qwen_call("c1", "false"), qwen_result("c1", "out"))
    attempt.calls(0.2, asks=[bash("c1", "false")])
    attempt.calls(2.0, gives=[ToolResult(id="c1", text="Output: out\nExit Code: 3\nSignal: 0")])
    start, end = [e for e in attempt.traced("qwen-code") if e.kind in (Kind.TOOL_START, Kind.TOOL_END)]
    assert (start.source, end.source) == (Source.BOTH, Source.BOTH)
    assert (end.exit_code, end.failed, end.at, end.duration) == (3, True, 2.0, 1.0)
    assert (end.output_bytes, end.shown_bytes, end.output) == (3, 34, "out")
    assert start.response == end.response == "call 1"


def test_calls_with_other_ids_are_matched_by_command_and_order(attempt, bash: Bash) -> None:
    stream = [
        {
            "type": "tool_use",
            "tool_name": "run_shell_command",
            "tool_id": f"g{n}",
            "parameters": {"command": c},
        }
        for n, c in enumerate(["ls", "pwd", "ls"])
    ]
    ends = [
        {"type": "tool_result", "tool_id": f"g{n}", "status": "success", "output": str(n)} for n in (2, 0, 1)
    ]
    attempt.prints(*stream, *ends)
    attempt.calls(0.1, asks=[bash(f"w{n}", c) for n, c in enumerate(["ls", "pwd", "ls"])])
    gives = [ToolResult(id=f"w{n}", text=f"Output: {n}\nExit Code: {n + 1}") for n in range(3)]
    attempt.calls(6.5, gives=gives)
    found = {e.output: e for e in attempt.traced("gemini-cli") if e.kind is Kind.TOOL_END}
    assert {text: (e.call_id, e.exit_code) for text, e in found.items()} == {
        "0": ("w0", 1),
        "1": ("w1", 2),
        "2": ("w2", 3),
    }
    assert attempt.summary.tool_calls == attempt.summary.matched_tool_calls == 3


def test_an_id_that_every_response_uses_again_is_matched_in_order(attempt, bash: Bash) -> None:
    attempt.prints(
        qwen_call("call_0", "a"),
        qwen_result("call_0", "1"),
        qwen_call("call_0", "b"),
        qwen_result("call_0", "2"),
    )
    attempt.calls(0.1, asks=[bash("call_0", "a")])
    attempt.calls(2.1, asks=[bash("call_0", "b")], gives=[ToolResult(id="call_0", text="Exit Code: 1")])
    attempt.calls(4.1, gives=[ToolResult(id="call_0", text="Exit Code: 2")])
    ends = [e for e in attempt.traced("qwen") if e.kind is Kind.TOOL_END]
    assert [(e.command, e.output, e.exit_code) for e in ends] == [("a", "1", 1), ("b", "2", 2)]


def test_a_call_that_only_one_side_tells_is_kept(attempt, bash: Bash) -> None:
    attempt.prints(qwen_call("s", "only streamed"), qwen_result("s", "x"))
    attempt.calls(0.1, asks=[bash("w", "only on the wire", tool="gone")])
    attempt.calls(9.0, gives=[ToolResult(id="w", text="no such tool", is_error=True)])
    ends = {e.command: e for e in attempt.traced("qwen") if e.kind is Kind.TOOL_END}
    assert ends["only streamed"].source is Source.STREAM
    assert (ends["only on the wire"].source, ends["only on the wire"].failed) == (Source.WIRE, True)
    assert (attempt.summary.tool_calls, attempt.summary.matched_tool_calls) == (2, 0)


def test_an_end_that_the_wire_never_saw_goes_by_the_id_of_its_start(attempt, bash: Bash) -> None:
    """The last result of an attempt is not sent to any model."""
    attempt.prints(
        {"type": "tool_use", "tool_name": "sh", "tool_id": "g", "parameters": {"command": "memory submit"}},
        {"type": "tool_result", "tool_id": "g", "status": "success", "output": "accepted"},
    )
    attempt.calls(0.1, asks=[bash("w", "memory submit")])
    start, end = [e for e in attempt.traced("gemini") if e.kind in (Kind.TOOL_START, Kind.TOOL_END)]
    assert (start.call_id, end.call_id, end.response) == ("w", "w", "call 1")
    assert (start.source, end.source) == (Source.BOTH, Source.STREAM)


def test_what_the_model_said_is_told_once(attempt) -> None:
    attempt.prints(
        {"type": "message", "role": "assistant", "content": "All ", "delta": True},
        {"type": "message", "role": "assistant", "content": "done.", "delta": True},
    )
    attempt.calls(0.5, text="All done.", reasoning="hm")
    told = [
        (e.kind, e.text, e.source)
        for e in attempt.traced("gemini")
        if e.text and e.kind is not Kind.LIFECYCLE
    ]
    assert told == [(Kind.REASONING, "hm", Source.WIRE), (Kind.MESSAGE, "All done.", Source.BOTH)]


def test_without_a_parser_the_wire_alone_makes_the_trace(attempt, bash: Bash) -> None:
    attempt.prints(b"\x1b[31mrich text\xff\n")
    attempt.calls(1.0, asks=[bash("1", "bash -lc 'rg x'"), bash("2", "ls")], seconds=0.5)
    gives = [
        ToolResult(id="2", text='{"returncode": 0, "output": ""}'),
        ToolResult(id="1", text='{"returncode": 2, "output": ""}'),
    ]
    attempt.calls(4.0, gives=gives)
    ends = {e.command: e for e in attempt.traced("") if e.kind is Kind.TOOL_END}
    assert {command: (e.exit_code, e.duration) for command, e in ends.items()} == {
        "rg x": (2, 2.5),
        "ls": (0, 2.5),
    }


def test_usage_is_believed_from_the_wire(attempt) -> None:
    attempt.prints({"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 9}})
    attempt.calls(1.0).calls(2.0).calls(3.0, wire=None, usage=None)
    attempt.traced("codex")
    summary = attempt.summary
    assert summary.tokens == Usage(fresh_input=200, cache_read=20, output=10)
    assert (summary.tokens_from, summary.cost_usd, summary.wire_calls) == (Source.WIRE, 0.02, 2)


def test_an_unknown_cost_of_one_call_makes_the_sum_unknown(attempt) -> None:
    attempt.calls(1.0).calls(2.0, cost_usd=None)
    attempt.traced("")
    assert attempt.summary.cost_usd is None


def test_failures_and_retries_on_the_wire_are_events(attempt) -> None:
    attempt.calls(1.0, outcome=Outcome.RATE_LIMITED, detail="too many", status=429, retries=2, usage=None)
    attempt.calls(2.0, cut=True)
    told = [(e.kind, e.text, e.status) for e in attempt.traced("") if e.kind in (Kind.ERROR, Kind.RETRY)]
    assert told == [
        (Kind.RETRY, "2 further tries", 429),
        (Kind.ERROR, "too many", 429),
        (Kind.ERROR, "the answer was cut off", 200),
    ]


def test_a_damaged_record_of_a_call_is_counted_and_left_out(attempt) -> None:
    attempt.calls(1.0)
    with (attempt.path / "model_calls.jsonl").open("ab") as file:
        file.write(b'{"number": 2, "wire"')
    attempt.traced("")
    assert (attempt.summary.wire_calls, attempt.summary.damaged_wire_lines) == (1, 1)


def test_a_result_that_is_much_shorter_than_the_output_was_cut(attempt, bash: Bash) -> None:
    attempt.prints(qwen_call("c", "cat big"), qwen_result("c", "x" * 50_000))
    attempt.calls(0.1, asks=[bash("c", "cat big")])
    attempt.calls(3.0, gives=[ToolResult(id="c", text="x" * 10_000)])
    [end] = [e for e in attempt.traced("qwen") if e.kind is Kind.TOOL_END]
    assert (end.truncated, end.output_bytes, end.shown_bytes) == (True, 50_000, 10_000)
    assert len(end.output) < 10_000


@pytest.mark.parametrize(
    ("stream", "text", "code"),
    [
        ("codex", "Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx", 3),
        ("codex", "Process exited with code 0\nOutput:\nProcess exited with code 9", 0),
        ("codex", "Process running with session ID 5\nOutput:\nProcess exited with code 9", None),
        ("claude", "Exit code 3\nto-stderr", 3),
        ("claude", "the file says:\nExit code 3", None),
        (
            "gemini",
            "<untrusted_context>\nOutput: x\nExit Code: 3\nProcess Group PGID: 1\n</untrusted_context>",
            3,
        ),
        ("gemini", "<untrusted_context>\nOutput: x\nProcess Group PGID: 1\n</untrusted_context>", 0),
        ("gemini", "Blocked: command substitution detected", None),
        ("qwen", "Command: x\nOutput: Exit Code: 9\nError: (none)\nExit Code: 0\nSignal: 0", 0),
        ("pi", "to-stderr\n\nCommand exited with code 3", 3),
        ("pi", "Command exited with code 3\nand more", None),
        ("mini-swe-agent", '{\n  "returncode": -1,\n  "output": ""}', -1),
        ("react", "exit code 3\nout", 3),
        ("react", "killed after 5 seconds\nexit code 3", None),
        ("", "nothing is told", None),
    ],
)
def test_exit_codes_are_read_where_each_agent_writes_them(
    attempt, bash: Bash, stream: str, text: str, code: int | None
) -> None:
    attempt.calls(0.1, asks=[bash("c", "run")], wire=Wire.OPENAI_RESPONSES)
    attempt.calls(1.0, gives=[ToolResult(id="c", text=text)])
    [end] = [e for e in attempt.traced(stream) if e.kind is Kind.TOOL_END]
    assert end.exit_code == code


def test_claude_says_of_success_only_that_it_is_none_of_failure(attempt, bash: Bash) -> None:
    attempt.calls(0.1, asks=[bash("c", "ls", tool="Bash"), bash("d", "ls", tool="Bash")])
    gives = [ToolResult(id="c", text="x", is_error=False), ToolResult(id="d", text="x")]
    attempt.calls(1.0, gives=gives)
    ends = {e.call_id: e.exit_code for e in attempt.traced("claude-code") if e.kind is Kind.TOOL_END}
    assert ends == {"c": 0, "d": None}


@settings(max_examples=60)
@given(st.data())
def test_every_call_is_matched_in_whatever_order_its_ends_arrive(data: st.DataObject) -> None:
    commands = data.draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=8))
    same_ids = data.draw(st.booleans())
    streamed = _ledger(commands, data.draw(st.permutations(range(len(commands)))), "s")
    wired = _ledger(commands, data.draw(st.permutations(range(len(commands)))), "s" if same_ids else "w")
    found = pairs(streamed.told, wired.told)
    assert len(found) == len(commands)
    assert all(one.content == other.content for one, other in found)
    assert len({id(other) for _, other in found}) == len(commands)
    if same_ids:
        assert all(one.call_id == other.call_id for one, other in found)


def _ledger(commands: list[str], order: list[int], prefix: str) -> Ledger:
    ledger = Ledger()
    for number, command in enumerate(commands):
        ledger.note(number, _event(Kind.TOOL_START, f"{prefix}{number}", command))
    for number in order:
        ledger.note(100 + number, _event(Kind.TOOL_END, f"{prefix}{number}", commands[number]))
    return ledger


def _event(kind: Kind, call_id: str, command: str) -> TraceEvent:
    return TraceEvent(kind=kind, source=Source.STREAM, call_id=call_id, command=command)


def test_results_under_ids_that_the_agent_made_up_belong_to_calls_in_order(attempt, bash: Bash) -> None:
    attempt.calls(0.1, asks=[bash("sh#1", "a", tool="sh"), bash("sh#2", "b", tool="sh")])
    gives = [ToolResult(id="made-up-7", text="Exit Code: 1"), ToolResult(id="made-up-8", text="Exit Code: 2")]
    attempt.calls(1.0, gives=gives)
    ends = [e for e in attempt.traced("gemini") if e.kind is Kind.TOOL_END]
    assert [(e.call_id, e.command, e.exit_code) for e in ends] == [("sh#1", "a", 1), ("sh#2", "b", 2)]


def test_it_happened_when_it_was_first_seen(attempt, bash: Bash) -> None:
    """Agents hold back output: here start and end come together, when the command is long over."""
    attempt.prints(qwen_call("c", "rg x"), qwen_result("c", "y"), seconds_each=0.0001)
    times = attempt.path / "stdout.times"
    times.write_text("[9999,9.0]\n")
    attempt.calls(1.0, asks=[bash("c", "rg x")], seconds=1.0)
    attempt.calls(5.0, gives=[ToolResult(id="c", text="y")])
    start, end = [e for e in attempt.traced("qwen") if e.kind in (Kind.TOOL_START, Kind.TOOL_END)]
    assert (start.at, end.at, end.duration) == (2.0, 5.0, 3.0)
