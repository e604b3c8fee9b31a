"""The export obeys the published rules of ATIF, checked here without the models that write it."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from runbook.gateway.records import ToolCall, ToolResult, Usage
from runbook.outcomes import Outcome
from runbook.traces import TraceError, to_atif
from runbook.traces.atif import AtifTrajectory

Bash = Callable[..., ToolCall]

AGENT_ONLY = {
    "model_name",
    "reasoning_effort",
    "reasoning_content",
    "tool_calls",
    "metrics",
    "llm_call_count",
}
ROOT = {"schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "final_metrics", "extra"}
STEP = {"step_id", "timestamp", "source", "message", "observation", "extra", "is_copied_context"} | AGENT_ONLY
METRICS = {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "extra"}
FINAL = {
    "total_prompt_tokens",
    "total_completion_tokens",
    "total_cached_tokens",
    "total_cost_usd",
    "total_steps",
    "extra",
}


def broken_rules(document: dict[str, Any]) -> list[str]:
    """The rules of the specification (RFC 0001 of Harbor, version 1.7) that a document breaks."""
    broken = [f"unknown root field {key}" for key in document.keys() - ROOT]
    agent, steps = document["agent"], document["steps"]
    if not all(isinstance(agent.get(key), str) for key in ("name", "version")):
        broken.append("agent has no name or version")
    if [step["step_id"] for step in steps] != list(range(1, len(steps) + 1)):
        broken.append("steps are not numbered from 1")
    for step in steps:
        broken += _step_rules(step)
    broken += [f"unknown final metric {key}" for key in document.get("final_metrics", {}).keys() - FINAL]
    ids = [call["tool_call_id"] for step in steps for call in step.get("tool_calls", ())]
    if len(ids) != len(set(ids)):
        broken.append("a tool call id is used twice")
    return broken


def _step_rules(step: dict[str, Any]) -> list[str]:
    broken = [f"unknown step field {key}" for key in step.keys() - STEP]
    if step["source"] not in ("system", "user", "agent") or not isinstance(step["message"], str):
        broken.append("a step has no source or message")
    if step["source"] != "agent" and step.keys() & AGENT_ONLY:
        broken.append("a step that is not the agent's has the agent's fields")
    if "timestamp" in step:
        datetime.fromisoformat(step["timestamp"])
    if step.get("llm_call_count") == 0 and step.keys() & {"metrics", "reasoning_content"}:
        broken.append("metrics or reasoning without a model call")
    asked = [call["tool_call_id"] for call in step.get("tool_calls", ())]
    if any(
        set(call) - {"extra"} != {"tool_call_id", "function_name", "arguments"}
        for call in step.get("tool_calls", ())
    ):
        broken.append("a tool call has other fields")
    if any(not isinstance(call["arguments"], dict) for call in step.get("tool_calls", ())):
        broken.append("arguments are no object")
    results = step.get("observation", {}).get("results", ())
    if any(result.get("source_call_id") not in (None, *asked) for result in results):
        broken.append("a result is of no call of its step")
    metrics = step.get("metrics", {})
    broken += [f"unknown metric {key}" for key in metrics.keys() - METRICS]
    if metrics.get("cached_tokens", 0) > metrics.get("prompt_tokens", float("inf")):
        broken.append("cached tokens are not part of the prompt's")
    return broken


def test_a_step_is_a_model_response_with_its_calls_and_their_results(attempt, bash: Bash) -> None:
    usage = Usage(fresh_input=100, cache_read=10, cache_write=5, output=7, reasoning=3)
    attempt.calls(
        1.0, asks=[bash("a", "ls"), bash("b", "pwd")], text="Let me look.", reasoning="hm", usage=usage
    )
    attempt.calls(3.0, text="Done.", gives=[ToolResult(id="b", text="/w"), ToolResult(id="a", text="f")])
    attempt.traced("", agent="my-agent", version="1.2", model="m-1", prompt="Find it.")
    document = to_atif(attempt.path)
    assert broken_rules(document) == []
    user, first, last = document["steps"]
    assert (user["source"], user["message"]) == ("user", "Find it.")
    assert (first["message"], first["reasoning_content"], first["llm_call_count"]) == (
        "Let me look.",
        "hm",
        1,
    )
    assert [call["arguments"] for call in first["tool_calls"]] == [{"command": "ls"}, {"command": "pwd"}]
    results = [(one["source_call_id"], one["content"]) for one in first["observation"]["results"]]
    assert results == [("b", "/w"), ("a", "f")]
    assert first["metrics"] == {
        "prompt_tokens": 115,
        "completion_tokens": 7,
        "cached_tokens": 10,
        "cost_usd": 0.01,
        "extra": {"reasoning_tokens": 3},
    }
    assert (last["message"], last["timestamp"]) == ("Done.", "2026-01-02T03:04:08.500+00:00")
    assert document["agent"] == {"name": "my-agent", "version": "1.2", "model_name": "m-1"}
    assert document["final_metrics"] == {
        "total_prompt_tokens": 225,
        "total_completion_tokens": 12,
        "total_cached_tokens": 20,
        "total_cost_usd": 0.02,
        "total_steps": 3,
    }
    assert document["session_id"] == "question-1"


def test_an_agent_without_a_model_has_a_step_of_no_model_calls(attempt) -> None:
    attempt.prints(b"the note of the search\n")
    attempt.traced("", agent="scout", version="0.1", prompt="Find it.", model_free=True)
    document = to_atif(attempt.path)
    assert broken_rules(document) == []
    assert [(step["source"], step.get("llm_call_count")) for step in document["steps"]] == [
        ("user", None),
        ("agent", 0),
    ]
    assert document["steps"][1]["message"] == "the note of the search"


def test_ids_that_repeat_and_calls_without_an_end_obey_the_rules(attempt, bash: Bash) -> None:
    attempt.calls(1.0, asks=[bash("call_0", "a"), bash("", "x")])
    attempt.calls(2.0, asks=[bash("call_0", "b")], gives=[ToolResult(id="call_0", text="1")])
    attempt.calls(
        3.0, outcome=Outcome.PROVIDER_ERROR, status=500, usage=None, gives=[ToolResult(id="zz", text="?")]
    )
    attempt.traced("")
    document = to_atif(attempt.path)
    assert broken_rules(document) == []
    assert [step["source"] for step in document["steps"]] == ["agent", "agent", "system"]


def test_arguments_that_are_no_object_are_exported_as_text(attempt) -> None:
    attempt.calls(1.0, asks=[ToolCall(id="a", name="Read", arguments='{"path": "x"}')])
    attempt.calls(2.0, asks=[ToolCall(id="b", name="Read", arguments='{"path": ')])
    attempt.traced("")
    calls = [call for step in to_atif(attempt.path)["steps"] for call in step.get("tool_calls", ())]
    assert [call["arguments"] for call in calls] == [{"path": "x"}, {"input": '{"path": '}]


def test_an_attempt_in_which_nothing_happened_still_exports(attempt) -> None:
    attempt.traced("codex")
    document = to_atif(attempt.path)
    assert broken_rules(document) == []
    assert len(document["steps"]) == 1


def test_the_document_is_json(attempt) -> None:
    attempt.calls(1.0, text="\x1b[31m\u202e\x00")
    attempt.traced("")
    assert json.loads(json.dumps(to_atif(attempt.path))) == to_atif(attempt.path)


def test_the_models_refuse_what_the_rules_forbid() -> None:
    agent = {"name": "a", "version": "1"}
    step = {"step_id": 1, "source": "agent", "message": ""}
    result = {"results": [{"source_call_id": "gone", "content": ""}]}
    bad = [
        step | {"step_id": 2},
        step | {"source": "robot"},
        step | {"source": "user", "metrics": {}},
        step | {"llm_call_count": 0, "metrics": {"prompt_tokens": 1}},
        step | {"observation": result},
        step | {"unknown": 1},
        step | {"timestamp": "yesterday"},
    ]
    for one in bad:
        with pytest.raises(ValidationError):
            AtifTrajectory.model_validate({"session_id": "s", "agent": agent, "steps": [one]})


def test_a_trace_that_is_missing_or_damaged_is_named(attempt) -> None:
    with pytest.raises(TraceError, match=r"trace\.jsonl cannot be read"):
        to_atif(attempt.path)
    (attempt.path / "trace.jsonl").write_text('{"kind": "lifecycle", "source": "stream"}\n{"kind": 1}\n')
    with pytest.raises(TraceError, match="line 2 is no event"):
        to_atif(attempt.path)
