"""OpenAI Responses."""

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
from tests.scripted_model.wires.chat import error

__all__ = ["error", "events", "read", "whole"]


def read(body: Json, path: str) -> Conversation:
    said = Conversation(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        system=str(body.get("instructions") or ""),
        tools=[
            Tool(str(tool.get("name")), tool.get("parameters") or {})
            for tool in body.get("tools") or []
            if tool.get("type") == "function"
        ],
    )
    given = body.get("input")
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or []:
        _read_item(item, said)
    return said


def _read_item(item: Json, said: Conversation) -> None:
    kind, content = item.get("type", "message"), item.get("content")
    if kind == "function_call":
        said.turns.append(Turn(str(item.get("call_id")), str(item.get("name")), item.get("arguments", "")))
    elif kind == "function_call_output":
        output = item.get("output")
        said.result(str(item.get("call_id")), output if isinstance(output, str) else text_of(output))
    elif kind == "message" and item.get("role") == "user":
        said.prompt += text_of(content) + "\n"
        if isinstance(content, list):
            said.images += sum(part.get("type") == "input_image" for part in content)
    elif kind == "message" and item.get("role") in ("system", "developer"):
        said.system += text_of(content) + "\n"


def whole(one: Numbered) -> Json:
    answer = one.answer
    items = None if answer.without_choices else _items(one)
    return {**_frame(one), "status": "completed", "output": items, "usage": usage(one)}


def events(one: Numbered, wants_usage: bool) -> Iterator[Event]:
    for number, (name, values) in enumerate(_events(one)):
        yield event({"type": name, "sequence_number": number, **values}, name)


def _events(one: Numbered) -> Iterator[tuple[str, Json]]:
    begun = {**_frame(one), "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for place, item in enumerate([] if one.answer.without_choices else _items(one)):
        yield from _item_events(item, place)
    yield "response.completed", {"response": whole(one)}


def _item_events(item: Json, place: int) -> Iterator[tuple[str, Json]]:
    at: Json = {"item_id": item["id"], "output_index": place}
    emptied: dict[str, Json] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "reasoning": {"summary": []},
    }
    started = {**item, **emptied[item["type"]], "status": "in_progress"}
    yield "response.output_item.added", {"output_index": place, "item": started}
    if item["type"] == "message":
        yield from _text_events(item["content"][0], {**at, "content_index": 0})
    elif item["type"] == "reasoning":
        yield from _summary_events(item["summary"][0], {**at, "summary_index": 0})
    else:
        for half in halves(item["arguments"]):
            yield "response.function_call_arguments.delta", {**at, "delta": half}
        done = {**at, "arguments": item["arguments"], "name": item["name"]}
        yield "response.function_call_arguments.done", done
    yield "response.output_item.done", {"output_index": place, "item": item}


def _text_events(part: Json, at: Json) -> Iterator[tuple[str, Json]]:
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**at, "part": part}


def _summary_events(part: Json, at: Json) -> Iterator[tuple[str, Json]]:
    yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
    yield "response.reasoning_summary_text.delta", {**at, "delta": part["text"]}
    yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**at, "part": part}


def _items(one: Numbered) -> list[Json]:
    answer, number = one.answer, one.number
    items: list[Json] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append(
            {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "c2NyaXB0"}
        )
    for place, call in enumerate(answer.calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": one.call_id(place),
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
        )
    if not answer.calls:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        message: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [part]})
    return items


def usage(one: Numbered) -> Json:
    given = FRESH + CACHE_WRITE + CACHE_READ + one.step
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": CACHE_READ},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": REASONING},
        "total_tokens": given + OUTPUT,
    }


def _frame(one: Numbered) -> dict[str, Any]:
    return {
        "id": f"resp_{one.number}",
        "object": "response",
        "created_at": one.created,
        "model": one.answer.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1,
    }
