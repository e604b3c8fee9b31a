"""OpenAI Chat Completions."""

from collections.abc import Iterator
from typing import Any

from tests.scripted_model.conversation import (
    CACHE_READ,
    CACHE_WRITE,
    FRESH,
    OUTPUT,
    REASONING,
    Conversation,
    Event,
    Json,
    Numbered,
    Tool,
    Turn,
    event,
    halves,
    pieces,
    text_of,
)


def read(body: Json, path: str) -> Conversation:
    options = body.get("stream_options") or {}
    said = Conversation(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        tools=[_tool(tool) for tool in body.get("tools") or [] if tool.get("type") == "function"],
        wants_usage=not body.get("stream") or bool(options.get("include_usage")),
    )
    for message in body.get("messages") or []:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            said.result(str(message.get("tool_call_id")), text_of(content))
        elif role == "assistant":
            said.turns += [_turn(call) for call in message.get("tool_calls") or []]
        elif role == "user":
            said.prompt += text_of(content) + "\n"
            said.images += _images(content)
        else:
            said.system += text_of(content) + "\n"
    return said


def _tool(tool: Json) -> Tool:
    return Tool(str(tool["function"].get("name")), tool["function"].get("parameters") or {})


def _turn(call: Json) -> Turn:
    function = call.get("function") or {}
    return Turn(str(call.get("id")), str(function.get("name")), function.get("arguments", ""))


def _images(content: Any) -> int:
    return sum(part.get("type") == "image_url" for part in content) if isinstance(content, list) else 0


def whole(one: Numbered) -> Json:
    answer = one.answer
    message: Json = {"role": "assistant", "content": None if answer.calls else answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_call(one, place) for place in range(len(answer.calls))]
    choice = {"index": 0, "message": message, "finish_reason": _finish(one), "logprobs": None}
    choices = None if answer.without_choices else [choice]
    return {**_frame(one, "chat.completion"), "choices": choices, "usage": usage(one)}


def events(one: Numbered, wants_usage: bool) -> Iterator[Event]:
    answer = one.answer

    def chunk(delta: Json | None, finish: str | None = None, **more: Any) -> Event:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return event({**_frame(one, "chat.completion.chunk"), "choices": choices, **more})

    if answer.without_choices:
        yield event({**_frame(one, "chat.completion.chunk"), "choices": None})
        yield Event("[DONE]")
        return
    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(answer.reasoning) if answer.reasoning else []:
        yield chunk({"reasoning_content": piece})
    for place in range(len(answer.calls)):
        call = _call(one, place)
        arguments = call["function"].pop("arguments")
        yield chunk(
            {"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}, "index": place}]}
        )
        for half in halves(arguments):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": half}}]})
    if not answer.calls:
        for piece in pieces(answer.text):
            yield chunk({"content": piece})
    yield chunk({}, _finish(one))
    if wants_usage:
        yield chunk(None, usage=usage(one))
    yield Event("[DONE]")


def usage(one: Numbered) -> Json:
    given = FRESH + CACHE_WRITE + CACHE_READ + one.step
    return {
        "prompt_tokens": given,
        "completion_tokens": OUTPUT,
        "total_tokens": given + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHE_READ},
        "completion_tokens_details": {"reasoning_tokens": REASONING},
    }


def _frame(one: Numbered, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{one.number}",
        "object": kind,
        "created": one.created,
        "model": one.answer.model,
        "system_fingerprint": "fp_scripted",
    }


def _call(one: Numbered, place: int) -> Json:
    call = one.answer.calls[place]
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": one.call_id(place), "type": "function", "function": function}


def _finish(one: Numbered) -> str:
    return "tool_calls" if one.answer.calls else "stop"


def error(status: int, message: str, kind: str) -> Json:
    codes = {"authentication_error": "invalid_api_key", "context": "context_length_exceeded"}
    named = "invalid_request_error" if kind == "context" else kind
    return {"error": {"message": message, "type": named, "param": None, "code": codes.get(kind)}}
