"""OpenAI Responses: typed events, the last of which holds the whole response."""

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
    less,
    objects,
)

_ENDS = {"response.completed", "response.incomplete", "response.failed"}


def read_response(body: bytes, content_type: str, _request: dict[str, Any]) -> Reading:
    """Read a streamed or whole response, cut ones included."""
    reading = Reading()
    items: dict[Any, Growing] = {}
    whole: dict[str, Any] = {}
    for event in objects(body, content_type):
        kind = as_text(event.get("type"))
        if event.get("object") == "response":
            whole = event
        elif kind in _ENDS:
            whole = as_dict(event.get("response"))
        elif kind in {"response.created", "response.in_progress"}:
            reading.model = as_text(as_dict(event.get("response")).get("model")) or reading.model
        elif kind == "response.output_item.done":
            items[_place(event)] = Growing(event.get("item"))
        elif kind == "response.output_item.added":
            items.setdefault(_place(event), Growing(event.get("item")))
        elif kind.endswith(".delta"):
            _add_delta(items.setdefault(_place(event), Growing()), kind, event.get("delta"))
        elif kind == "error":
            reading.error = error_text(event.get("error") or event)
    _read_whole(reading, whole)
    for item in as_list(whole.get("output")) or [items[place].whole() for place in sorted(items, key=str)]:
        _read_item(reading, as_dict(item))
    return reading


def _place(event: dict[str, Any]) -> Any:
    place = event.get("output_index")
    return place if isinstance(place, int | str) else ""


def _add_delta(item: Growing, kind: str, delta: object) -> None:
    """Collect the pieces of an item whose end may never come."""
    if kind == "response.output_text.delta":
        item.add("partial_text", delta)
    elif kind == "response.function_call_arguments.delta":
        item.add("arguments", delta)
    elif kind == "response.custom_tool_call_input.delta":
        item.add("input", delta)
    elif kind.startswith("response.reasoning"):
        item.add("partial_reasoning", delta)


def _read_whole(reading: Reading, whole: dict[str, Any]) -> None:
    reading.model = as_text(whole.get("model")) or reading.model
    reading.usage = _usage(whole.get("usage"))
    status = whole.get("status")
    reading.ended = status in {"completed", "incomplete", "failed"}
    if status == "failed":
        reading.error = error_text(whole.get("error"))


def _usage(value: object) -> Usage | None:
    fields = as_dict(value)
    if not fields:
        return None
    details = as_dict(fields.get("input_tokens_details"))
    cached = as_count(details.get("cached_tokens"))
    written = as_count(details.get("cache_write_tokens", details.get("cache_creation_tokens")))
    return Usage(
        fresh_input=less(as_count(fields.get("input_tokens")), cached, written),
        cache_read=cached,
        cache_write=written,
        output=as_count(fields.get("output_tokens")),
        reasoning=as_count(as_dict(fields.get("output_tokens_details")).get("reasoning_tokens")),
    )


def _read_item(reading: Reading, item: dict[str, Any]) -> None:
    kind = as_text(item.get("type"))
    call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
    if kind == "reasoning":
        parts = as_list(item.get("summary")) + as_list(item.get("content"))
        thought = "".join(as_text(as_dict(part).get("text")) for part in parts)
        reading.thoughts.append(thought or as_text(item.get("partial_reasoning")))
    elif kind == "function_call":
        arguments = as_json_text(item.get("arguments", ""))
        reading.tool_calls.append(ToolCall(id=call_id, name=as_text(item.get("name")), arguments=arguments))
    elif kind == "custom_tool_call":
        arguments = as_json_text(item.get("input", ""))
        reading.tool_calls.append(ToolCall(id=call_id, name=as_text(item.get("name")), arguments=arguments))
    elif kind.endswith("_call") and "action" in item:
        name = kind.removesuffix("_call")
        reading.tool_calls.append(ToolCall(id=call_id, name=name, arguments=as_json_text(item["action"])))
    elif kind == "message" or "partial_text" in item:
        parts = [as_dict(part) for part in as_list(item.get("content"))]
        said = "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)
        reading.texts.append(said or as_text(item.get("partial_text")))


def tool_results(request: dict[str, Any]) -> list[ToolResult]:
    """What the agent sent back for tool calls, in order."""
    return [
        ToolResult(id=as_text(item.get("call_id")), text=content_text(item.get("output")))
        for item in map(as_dict, as_list(request.get("input")))
        if as_text(item.get("type")).endswith("_call_output")
    ]
