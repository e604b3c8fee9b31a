"""The stream of our own tool loop."""

from runbook.gateway.records import Usage
from runbook.traces import Kind

USAGE = {"fresh_input": 9, "cache_read": 1, "cache_write": None, "output": 5, "reasoning": 2}


def test_a_run_of_react_is_told_call_by_call(attempt) -> None:
    attempt.prints(
        {"type": "start", "at": 1.0, "model": "m", "wire": "openai-chat", "tools": ["bash"]},
        {
            "type": "model",
            "id": "1",
            "seconds": 0.5,
            "model": "m",
            "text": "Look.",
            "reasoning": "hm",
            "calls": ["a"],
            "usage": USAGE,
        },
        {"type": "tool_start", "id": "a", "name": "bash", "command": "rg x"},
        {
            "type": "tool_end",
            "id": "a",
            "name": "bash",
            "command": "rg x",
            "exit_code": 1,
            "seconds": 0.25,
            "output_bytes": 900,
            "output": "cut",
            "is_error": False,
        },
        {
            "type": "model",
            "id": "2",
            "seconds": 0.5,
            "model": "m",
            "text": "Done.",
            "calls": [],
            "usage": None,
        },
        {"type": "message", "text": "Done."},
        {"type": "error", "message": "too many steps", "status": None, "kind": "steps"},
        {"type": "end", "reason": "message", "steps": 2},
    )
    events = attempt.traced("react")
    [end] = [event for event in events if event.kind is Kind.TOOL_END]
    assert (end.exit_code, end.duration, end.output_bytes, end.truncated, end.response) == (
        1,
        0.25,
        900,
        True,
        "1",
    )
    assert [event.text for event in events if event.kind is Kind.MESSAGE] == ["Look.", "Done."]
    assert [event.text for event in events if event.kind is Kind.ERROR] == ["too many steps"]
    assert attempt.summary.tokens == Usage(fresh_input=9, cache_read=1, output=5, reasoning=2)
    assert attempt.summary.unknown_lines == {}
