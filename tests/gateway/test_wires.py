"""What is read out of the four protocols' answers and requests, streamed or whole, odd or cut."""

import json

import pytest

from runbook.gateway.budgets import tokens_of
from runbook.gateway.records import ToolCall, ToolResult, Usage
from runbook.gateway.wires import anthropic, gemini, openai_chat, openai_responses
from tests.gateway.scripted import SSE, event

JSON = "application/json"


def stream(*events: object) -> bytes:
    return b"".join(map(event, events))


def whole(value: object) -> bytes:
    return json.dumps(value).encode()


RESPONSES_USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 300},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
}
RESPONSE = {
    "object": "response",
    "model": "gpt-5-2025-08-07",
    "status": "completed",
    "usage": RESPONSES_USAGE,
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
        {"type": "function_call", "call_id": "c1", "name": "exec", "arguments": '{"cmd":"ls"}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
        {"type": "local_shell_call", "call_id": "c3", "action": {"command": ["ls"]}},
        {"type": "message", "content": [{"type": "output_text", "text": "done"}]},
    ],
}


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        (whole(RESPONSE), JSON),
        (
            stream(
                {"type": "response.created", "response": {}},
                {"type": "response.completed", "response": RESPONSE},
            ),
            SSE,
        ),
        (
            stream(
                *(
                    {"type": "response.output_item.done", "output_index": n, "item": item}
                    for n, item in enumerate(RESPONSE["output"])
                ),
                {"type": "response.completed", "response": {**RESPONSE, "output": []}},
            ),
            SSE,
        ),
    ],
    ids=["whole", "in the last event", "item by item"],
)
def test_a_response_is_read(body, type_):
    reading = openai_responses.read_response(body, type_, {})
    assert reading.usage == Usage(fresh_input=700, cache_read=300, output=50, reasoning=20)
    assert [(call.id, call.name, call.arguments) for call in reading.tool_calls] == [
        ("c1", "exec", '{"cmd":"ls"}'),
        ("c2", "patch", "*** Begin"),
        ("c3", "local_shell", '{"command":["ls"]}'),
    ]
    assert (reading.text, reading.reasoning, reading.ended) == ("done", "think", True)
    assert reading.model == "gpt-5-2025-08-07"


def test_a_cut_response_gives_what_had_arrived():
    item = {"type": "function_call", "call_id": "c1", "name": "exec", "arguments": ""}
    body = stream(
        {"type": "response.created", "response": {"model": "m"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "hel"},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
        {"type": "response.output_item.added", "output_index": 1, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '":1'},
    )
    reading = openai_responses.read_response(body, SSE, {})
    assert (reading.text, reading.ended, reading.usage, reading.model) == ("hello", False, None, "m")
    assert reading.tool_calls == [ToolCall(id="c1", name="exec", arguments='{"a":1')]


def test_a_failed_response_says_why():
    failed = {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    reading = openai_responses.read_response(stream({"type": "response.failed", "response": failed}), SSE, {})
    assert reading.error == "rate_limit_exceeded: slow down"


def piece(index, function, **fields):
    delta = {"tool_calls": [{"index": index, "function": function, **fields}]}
    return {"model": "m", "choices": [{"index": 0, "delta": delta}]}


def test_parallel_chat_calls_in_interleaved_pieces_are_put_together():
    body = (
        stream(
            piece(0, {"name": "bash", "arguments": ""}, id="a"),
            piece(1, {"name": "view", "arguments": '{"x'}, id="b"),
            piece(0, {"arguments": '{"c":'}),
            piece(1, {"arguments": '":2}'}),
            piece(0, {"arguments": "1}"}),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}},
        )
        + b"data: [DONE]\n\n"
    )
    reading = openai_chat.read_response(body, SSE, {})
    assert reading.tool_calls == [
        ToolCall(id="a", name="bash", arguments='{"c":1}'),
        ToolCall(id="b", name="view", arguments='{"x":2}'),
    ]
    assert reading.ended
    assert reading.usage == Usage(fresh_input=10, output=4)


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 30,
                "total_tokens": 130,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(fresh_input=60, cache_read=40, output=30, reasoning=20),
        ),
        # xAI counts reasoning beside the completion
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 30,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(fresh_input=100, output=50, reasoning=20),
        ),
        # DeepSeek names its cache differently
        (
            {"prompt_tokens": 100, "completion_tokens": 30, "prompt_cache_hit_tokens": 90},
            Usage(fresh_input=10, cache_read=90, output=30),
        ),
        ({"prompt_tokens": "many", "completion_tokens": -1}, Usage()),
    ],
)
def test_chat_usage_falls_into_buckets_that_do_not_overlap(told, usage):
    assert openai_chat.read_response(whole({"choices": [], "usage": told}), JSON, {}).usage == usage


MESSAGE_START = {
    "type": "message_start",
    "message": {
        "model": "claude",
        "usage": {
            "input_tokens": 9,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 100,
            "output_tokens": 1,
        },
    },
}


def test_a_streamed_message_is_read():
    body = stream(
        MESSAGE_START,
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ok"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"c'},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '":1}'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    )
    reading = anthropic.read_response(body, SSE, {})
    assert reading.usage == Usage(fresh_input=9, cache_read=100, cache_write=10, output=50)
    assert reading.tool_calls == [ToolCall(id="t", name="Bash", arguments='{"c":1}')]
    assert (reading.text, reading.reasoning, reading.model, reading.ended) == ("ok", "hm", "claude", True)


def test_a_cut_message_keeps_the_input_that_was_charged():
    reading = anthropic.read_response(stream(MESSAGE_START), SSE, {})
    assert (reading.ended, reading.usage.cache_read) == (False, 100)


def test_an_error_within_a_stream_is_an_error():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert anthropic.read_response(stream(error), SSE, {}).error == "overloaded_error: Overloaded"


def gemini_chunk(*parts, **fields):
    return {"modelVersion": "gemini-2.5-pro", "candidates": [{"content": {"parts": list(parts)}, **fields}]}


def test_gemini_counts_thoughts_as_output_and_numbers_calls_without_ids():
    earlier = {"contents": [{"parts": [{"functionCall": {"name": "sh", "args": {}}}]}]}
    counts = {
        "promptTokenCount": 1000,
        "cachedContentTokenCount": 100,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 20,
    }
    body = stream(
        gemini_chunk({"text": "hm", "thought": True}),
        gemini_chunk(
            {"functionCall": {"name": "sh", "args": {"c": 1}}}, {"functionCall": {"name": "sh", "args": {}}}
        ),
        {**gemini_chunk({"text": "ok"}, finishReason="STOP"), "usageMetadata": counts},
    )
    reading = gemini.read_response(body, SSE, earlier)
    assert reading.usage == Usage(fresh_input=900, cache_read=100, output=50, reasoning=20)
    assert [call.id for call in reading.tool_calls] == ["sh#2", "sh#3"]
    assert (reading.text, reading.reasoning, reading.ended) == ("ok", "hm", True)


def test_a_gemini_stream_without_events_is_a_list():
    body = whole([gemini_chunk({"text": "a"}), gemini_chunk({"text": "b"}, finishReason="STOP")])
    assert gemini.read_response(body, JSON, {}).text == "ab"


def test_tool_results_are_found_in_every_wire():
    assert openai_responses.tool_results(
        {"input": [{"type": "function_call_output", "call_id": "c", "output": "out"}, {"type": "message"}]}
    ) == [ToolResult(id="c", text="out")]
    assert openai_chat.tool_results(
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "out"}]}]}
    ) == [ToolResult(id="c", text="out")]
    assert anthropic.tool_results(
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c",
                            "is_error": True,
                            "content": [{"type": "text", "text": "Exit code 3"}, {"type": "image"}],
                        }
                    ],
                },
            ]
        }
    ) == [ToolResult(id="c", text="Exit code 3\n[image]", is_error=True)]
    assert gemini.tool_results(
        {
            "contents": [
                {"parts": [{"functionResponse": {"name": "sh", "response": {"output": "a"}}}]},
                {"parts": [{"functionResponse": {"name": "sh", "response": {"error": "b"}}}]},
            ]
        }
    ) == [ToolResult(id="sh#1", text="a"), ToolResult(id="sh#2", text="b", is_error=True)]


ODD = [
    b"",
    b"not json",
    b"\xff\xfe\x00",
    b"[]",
    b"null",
    b'data: [1]\n\ndata: {"type": 7, "choices": 3, "candidates": {}, "usage": [], "delta": 1}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":{},"function":3}]}}]}\n\n',
    b'data: {"type":"content_block_delta","index":[],"delta":{"text":5}}\n\n',
    b'data: {"type":"response.completed","response":{"output":[1,{"type":[]}],"usage":5}}\n\n',
    b'data: {"candidates":[{"content":{"parts":[{"functionCall":5},{"text":{}}]}}]}\n\n',
]


@pytest.mark.parametrize("module", [openai_responses, openai_chat, anthropic, gemini])
@pytest.mark.parametrize("body", ODD)
def test_nonsense_is_read_as_nothing(module, body):
    reading = module.read_response(body, SSE, {"contents": [1], "messages": 5})
    assert not reading.text
    assert tokens_of(reading.usage) == 0
    odd = {
        "input": [1, {"type": 5}],
        "messages": ["x", {"role": "tool", "content": {"a": 1}}],
        "contents": [{"parts": 3}],
    }
    module.tool_results(odd)


@pytest.mark.parametrize("usage", ["1e400", "NaN", "9" * 5000, "9" * 30, "-1", "1.5", "true"])
def test_a_number_that_is_no_count_costs_only_itself(usage):
    choices = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],'
    body = choices + b'"usage":{"prompt_tokens":%b,"completion_tokens":5}}' % usage.encode()
    reading = openai_chat.read_response(body, JSON, {})
    assert (reading.text, reading.ended, reading.error) == ("hi", True, "")
    assert (reading.usage.fresh_input, reading.usage.output) == (None, 5)


def test_texts_that_no_utf8_can_hold_cost_only_a_character():
    tool = rb'{"id":"1","function":{"name":"x","arguments":"\udfff"}}'
    message = rb'{"content":"a\ud800b","tool_calls":[' + tool + b"]}"
    answer = b'{"choices":[{"message":' + message + b',"finish_reason":"stop"}]}'
    for body, type_ in ((answer, JSON), (b"data: " + answer + b"\n\n", SSE)):
        reading = openai_chat.read_response(body, type_, {})
        assert (reading.text, reading.ended) == ("a?b", True)
        assert reading.tool_calls == [ToolCall(id="1", name="x", arguments="?")]
    reading = openai_chat.read_response(answer.replace(rb"\ud800", b"\xff"), JSON, {})
    assert reading.text == "a\ufffdb"
