"""Anthropic Messages: content blocks, opened, filled by deltas and closed; usage in two events."""

from typing import Any

from runbook.gateway.records import ToolCall, ToolResult, Usage
from runbook.gateway.wires.reading import (
    Growing,
    Reading,
    as_count,
    as_dict,
    as_json_text,
    as_list,
    as_text,
    content_text,
    error_text,
    objects,
)

_COUNTERS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def read_response(body: bytes, content_type: str, _request: dict[str, Any]) -> Reading:
    """Read a streamed or whole message, cut ones included."""
    reading = Reading()
    counters: dict[str, int] = {}
    blocks: dict[Any, Growing] = {}
    for event in objects(body, content_type):
        kind = event.get("type")
        if kind in {"message", "message_start"}:
            message = event if kind == "message" else as_dict(event.get("message"))
            reading.model = as_text(message.get("model")) or reading.model
            reading.ended = kind == "message"
            _count(counters, message.get("usage"))
            blocks.update(enumerate(map(Growing, as_list(message.get("content")))))
        elif kind == "content_block_start":
            blocks[_place(event)] = Growing(event.get("content_block"))
        elif kind == "content_block_delta":
            _add_delta(blocks.setdefault(_place(event), Growing()), as_dict(event.get("delta")))
        elif kind == "message_delta":
            _count(counters, event.get("usage"))
        elif kind == "message_stop":
            reading.ended = True
        elif kind == "error":
            reading.error = error_text(event.get("error"))
    reading.usage = _usage(counters)
    for block in blocks.values():
        _read_block(reading, block.whole())
    return reading


def _place(event: dict[str, Any]) -> Any:
    place = event.get("index")
    return place if isinstance(place, int | str) else ""


def _count(counters: dict[str, int], usage: object) -> None:
    """Counters are cumulative, and a later event may hold fewer of them: the largest one stands."""
    fields = as_dict(usage)
    for name in _COUNTERS:
        count = as_count(fields.get(name))
        if count is not None:
            counters[name] = max(count, counters.get(name, 0))


def _usage(counters: dict[str, int]) -> Usage | None:
    if not counters:
        return None
    return Usage(
        fresh_input=counters.get("input_tokens"),
        cache_read=counters.get("cache_read_input_tokens"),
        cache_write=counters.get("cache_creation_input_tokens"),
        output=counters.get("output_tokens"),
    )


def _add_delta(block: Growing, delta: dict[str, Any]) -> None:
    for name in ("text", "thinking", "partial_json"):
        if name in delta:
            block.add(name, delta[name])


def _read_block(reading: Reading, block: dict[str, Any]) -> None:
    kind = as_text(block.get("type"))
    if kind.endswith("tool_use"):
        arguments = as_text(block.get("partial_json")) or as_json_text(block.get("input", {}))
        reading.tool_calls.append(
            ToolCall(id=as_text(block.get("id")), name=as_text(block.get("name")), arguments=arguments)
        )
    elif kind == "thinking":
        reading.thoughts.append(as_text(block.get("thinking")))
    else:
        reading.texts.append(as_text(block.get("text")))


def tool_results(request: dict[str, Any]) -> list[ToolResult]:
    """What the agent sent back for tool calls, in order."""
    return [
        ToolResult(
            id=as_text(block.get("tool_use_id")),
            text=content_text(block.get("content")),
            is_error=bool(block.get("is_error")),
        )
        for message in map(as_dict, as_list(request.get("messages")))
        for block in map(as_dict, as_list(message.get("content")))
        if block.get("type") == "tool_result"
    ]
