"""Anthropic Messages."""

from collections.abc import Iterator

from tests.scripted_model.conversation import (
    CACHE_READ,
    CACHE_WRITE,
    FRESH,
    OUTPUT,
    Conversation,
    Event,
    Json,
    Numbered,
    Tool,
    Turn,
    event,
    halves,
    parsed,
    pieces,
    text_of,
)


def read(body: Json, path: str) -> Conversation:
    said = Conversation(
        model=str(body.get("model")),
        stream=bool(body.get("stream")),
        system=text_of(body.get("system")),
        tools=[
            Tool(str(tool.get("name")), tool.get("input_schema") or {}) for tool in body.get("tools") or []
        ],
    )
    for message in body.get("messages") or []:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            _read_block(block, str(message.get("role")), said)
    return said


def _read_block(block: Json, role: str, said: Conversation) -> None:
    kind = block.get("type")
    if kind == "tool_use":
        said.turns.append(Turn(str(block.get("id")), str(block.get("name")), block.get("input")))
    elif kind == "tool_result":
        said.result(str(block.get("tool_use_id")), text_of(block.get("content")))
    elif kind == "image":
        said.images += 1
    elif kind == "text" and role == "user":
        said.prompt += str(block.get("text")) + "\n"


def whole(one: Numbered) -> Json:
    return {
        **_frame(one),
        "content": None if one.answer.without_choices else _blocks(one),
        "stop_reason": _stop(one),
        "usage": {**_given(one), "output_tokens": OUTPUT},
    }


def events(one: Numbered, wants_usage: bool) -> Iterator[Event]:
    def named(name: str, **values: object) -> Event:
        return event({"type": name, **values}, name)

    begun = {**_frame(one), "content": [], "stop_reason": None, "usage": {**_given(one), "output_tokens": 1}}
    yield named("message_start", message=begun)
    yield named("ping")
    for place, block in enumerate([] if one.answer.without_choices else _blocks(one)):
        started, deltas = _streamed(block, one)
        yield named("content_block_start", index=place, content_block=started)
        for delta in deltas:
            yield named("content_block_delta", index=place, delta=delta)
        yield named("content_block_stop", index=place)
    stop = {"stop_reason": _stop(one), "stop_sequence": None}
    yield named("message_delta", delta=stop, usage={"output_tokens": OUTPUT})
    yield named("message_stop")


def _streamed(block: Json, one: Numbered) -> tuple[Json, list[Json]]:
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        return {**block, "text": ""}, deltas
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    call = one.answer.calls[int(block["id"].rpartition("_")[2])]
    deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves(call.arguments)]
    return {**block, "input": {}}, deltas


def _blocks(one: Numbered) -> list[Json]:
    answer = one.answer
    blocks: list[Json] = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": "c2NyaXB0"})
    for place, call in enumerate(answer.calls):
        use: Json = {"type": "tool_use", "id": f"toolu_{one.number}_{place}", "name": call.name}
        blocks.append({**use, "input": parsed(call.arguments) or {}})
    if not answer.calls:
        blocks.append({"type": "text", "text": answer.text})
    return blocks


def _frame(one: Numbered) -> Json:
    return {
        "id": f"msg_{one.number}",
        "type": "message",
        "role": "assistant",
        "model": one.answer.model,
        "stop_sequence": None,
    }


def _given(one: Numbered) -> Json:
    return {
        "input_tokens": FRESH + one.step,
        "cache_creation_input_tokens": CACHE_WRITE,
        "cache_read_input_tokens": CACHE_READ,
    }


def _stop(one: Numbered) -> str:
    return "tool_use" if one.answer.calls else "end_turn"


def error(status: int, message: str, kind: str) -> Json:
    named = "invalid_request_error" if kind == "context" else kind
    if kind == "context":
        message = "prompt is too long: 250000 tokens > 200000 maximum"
    return {"type": "error", "error": {"type": named, "message": message}, "request_id": "req_scripted"}
