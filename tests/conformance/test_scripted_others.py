"""The scripted model on the Anthropic and Gemini wires, and what it does with a workspace's prompt."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.waiting import AT_ONCE

CLAUDE_TOOL = {
    "name": "Bash",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}
GEMINI_TOOL = {
    "functionDeclarations": [
        {"name": "run_shell_command", "parametersJsonSchema": CLAUDE_TOOL["input_schema"]},
    ]
}
QUESTION = "Which colour has the `save` button of the form?"
PROMPT = f"# Your task\nFind it.\n<question ab12>\n{QUESTION}\n</question ab12>"

Post = Callable[..., httpx.Response]


@pytest.fixture
def post(model_url: str) -> Post:
    return lambda path, body: httpx.post(f"{model_url}/m/{path}", json=body, timeout=AT_ONCE)


def claude(messages: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    given = messages or [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}]
    return {"model": "c-1", "max_tokens": 9, "messages": given, "tools": [CLAUDE_TOOL], **more}


def claude_turns(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    """The prompt, then a command and its result each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
    for number, (command, result) in enumerate(turns):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    return messages


def gemini(*parts: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": PROMPT}]}]
    contents += [{"role": role, "parts": [part]} for role, part in parts]
    return {"contents": contents, "tools": [GEMINI_TOOL]}


def events(response: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]


def command_of(response: httpx.Response) -> str:
    (block,) = response.json()["content"]
    return str(block["input"]["command"])


def test_claude_gets_a_call_and_disjoint_usage(post: Post) -> None:
    reply = post("ok/v1/messages?beta=true", claude()).json()
    assert reply["content"][0]["input"] == {"command": "ls; cat question.json"}
    assert reply["stop_reason"] == "tool_use"
    assert reply["usage"] == {
        "input_tokens": 890,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 100,
        "output_tokens": 50,
    }


def test_a_claude_stream_adds_up(post: Post) -> None:
    streamed = events(post("think/v1/messages", claude(stream=True)))
    kinds = [event["type"] for event in streamed]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    partial = "".join(
        one["delta"].get("partial_json", "") for one in streamed if "index" in one and "delta" in one
    )
    assert json.loads(partial) == {"command": "ls; cat question.json"}
    assert any(one.get("delta", {}).get("type") == "thinking_delta" for one in streamed)
    assert streamed[-2]["usage"] == {"output_tokens": 50}


def test_a_cut_claude_stream_has_no_end(post: Post) -> None:
    assert "message_stop" not in post("trunc/v1/messages", claude(stream=True)).text


def test_gemini_streams_parts_and_counts_thoughts(post: Post) -> None:
    path = "think/v1beta/models/g-1:streamGenerateContent?alt=sse"
    streamed = events(post(path, gemini()))
    parts = [part for one in streamed for part in one["candidates"][0]["content"]["parts"]]
    assert next(part for part in parts if "functionCall" in part)["functionCall"] == {
        "name": "run_shell_command",
        "args": {"command": "ls; cat question.json"},
    }
    usage = streamed[-1]["usageMetadata"]
    assert (usage["promptTokenCount"], usage["cachedContentTokenCount"]) == (1000, 100)
    assert (usage["candidatesTokenCount"], usage["thoughtsTokenCount"]) == (30, 20)
    assert streamed[-1]["modelVersion"] == "g-1"


def test_gemini_results_count_in_the_order_of_calls(post: Post) -> None:
    call = {"functionCall": {"name": "run_shell_command", "args": {"command": "ls; cat question.json"}}}
    back = {"functionResponse": {"id": "x", "name": "run_shell_command", "response": {"output": "one"}}}
    reply = post("ok/v1beta/models/g-1:generateContent", gemini(("model", call), ("user", back))).json()
    (part,) = reply["candidates"][0]["content"]["parts"]
    assert part["functionCall"]["args"]["command"] == "./memory overview"


@pytest.mark.parametrize(
    ("path", "body", "error"),
    [
        ("err401/v1/messages", claude(), {"type": "authentication_error", "message": "scripted error 401"}),
        (
            "err429/v1beta/models/g:generateContent",
            gemini(),
            {"code": 429, "message": "scripted error 429", "status": "RESOURCE_EXHAUSTED"},
        ),
    ],
)
def test_errors_have_the_providers_shape(post: Post, path: str, body: Any, error: dict[str, Any]) -> None:
    assert post(path, body).json()["error"] == error


def test_tokens_can_be_counted(post: Post) -> None:
    assert post("ok/v1/messages/count_tokens", claude()).json()["input_tokens"] > 0
    assert post("ok/v1beta/models/g:countTokens", gemini()).json()["totalTokens"] > 0


def test_an_unknown_path_is_not_found(post: Post) -> None:
    assert post("ok/v1/images", {}).status_code == 404


HITS = """\
# best 2 of 9 states with any of these words
1 form-a1:7  title: save
   line 3: [4] button 'Save'
2 b-2:0  x
"""


def test_memory_searches_reads_and_submits_what_it_found(post: Post) -> None:
    commands: list[tuple[str, str]] = []
    outputs = (HITS, "url: /form\n\n[4] button 'Save', colour: teal", "submitted: 2 of 20 states.")
    for output in outputs:
        command = command_of(post("memory/v1/messages", claude(claude_turns(*commands))))
        assert not re.search(r"\$\(|`|<\(|>\(", command)
        commands.append((command, output))
    search, read, submit = (command for command, _ in commands)
    assert search == "./memory search 'colour save button form' --limit 12"
    assert read.startswith("./memory state form-a1 7")
    assert "--span form-a1:7 --span b-2:0 --status supported" in submit
    assert "teal" in submit
    final = post("memory/v1/messages", claude(claude_turns(*commands))).json()
    assert final["content"][0]["type"] == "text"


def test_memory_says_so_when_nothing_is_found(post: Post) -> None:
    nothing = "no state has any of these words"
    turns = [("./memory search 'a b c'", nothing), ("./memory search 'a'", nothing)]
    assert "--status insufficient" in command_of(post("memory/v1/messages", claude(claude_turns(*turns))))


def test_memory_reads_results_that_an_agent_wraps_in_json(post: Post) -> None:
    wrapped = json.dumps({"returncode": 0, "output": HITS})
    reply = post("memory/v1/messages", claude(claude_turns(("./memory search 'save'", wrapped))))
    assert command_of(reply).startswith("./memory state form-a1 7")


def test_an_agent_that_ends_by_a_command_ends_by_it(post: Post) -> None:
    ending = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    prompt = f"{PROMPT}\nWhen you are done, run `{ending}`."
    tool = {"type": "function", "function": {"name": "bash", "parameters": CLAUDE_TOOL["input_schema"]}}
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "./memory submit"}'},
    }
    messages = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "submitted"},
    ]
    search = {
        "id": "0",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "./memory search"}'},
    }
    hits = {"role": "tool", "tool_call_id": "0", "content": ""}
    messages[1:1] = [{"role": "assistant", "tool_calls": [search]}, hits] * 2
    reply = post("memory/v1/chat/completions", {"model": "m", "messages": messages, "tools": [tool]}).json()
    (called,) = reply["choices"][0]["message"]["tool_calls"]
    assert json.loads(called["function"]["arguments"]) == {"command": ending}


def test_a_reader_answers_from_the_context_and_a_judge_compares(post: Post) -> None:
    def reply(mode: str, text: str) -> str:
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        answer = post(f"{mode}/v1/chat/completions", body).json()
        return str(answer["choices"][0]["message"]["content"])

    context = "# Memory context\n- The save button is teal.\n- The exit is left.\n"
    question = "# Question\nWhich colour has the save button?"
    assert "\\boxed{- The save button is teal.}" in reply("reader", context + question)
    options = f"{question}\nA. red\nB. teal"
    assert "\\boxed{B}" in reply("reader", context + options)
    assert "\\boxed{UNKNOWN}" in reply("reader", f"# Memory context\n(empty)\n{question}")
    graded = "<reference x1>\nteal save button\n</reference x1>\n<parsed x1>\n{}\n</parsed x1>"
    assert json.loads(reply("judge", graded.format("The save button is teal")))["label"] == 1
    assert json.loads(reply("judge", graded.format("red")))["label"] == 0


def test_a_huge_prompt_is_answered_only_when_it_came_whole(post: Post) -> None:
    def asks(prompt: str) -> bool:
        reply = post("huge/v1/messages", claude([{"role": "user", "content": prompt}])).json()
        return reply["content"][0]["type"] == "tool_use"

    whole = PROMPT.replace("Which", "x" * 140_000 + " Which")
    assert asks(whole)
    assert not asks(PROMPT)
    assert not asks(whole[:-10])
