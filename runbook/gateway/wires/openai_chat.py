"""OpenAI Chat Completions, and the many endpoints that resemble it."""

from dataclasses import dataclass, field
from typing import Any

from runbook.gateway.records import ToolCall, ToolResult, Usage
from runbook.gateway.wires.reading import (
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


@dataclass(slots=True)
class _Call:
    """A tool call while its pieces come in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self) -> ToolCall:
        return ToolCall(id=self.id, name=self.name, arguments="".join(self.arguments))


def read_response(body: bytes, content_type: str, _request: dict[str, Any]) -> Reading:
    """Read a streamed or whole completion, cut ones included; only the first choice is read."""
    reading = Reading()
    calls: dict[Any, _Call] = {}
    for chunk in objects(body, content_type):
        reading.model = as_text(chunk.get("model")) or reading.model
        reading.usage = _usage(chunk.get("usage")) or reading.usage
        if chunk.get("error"):
            reading.error = error_text(chunk["error"])
        if chunk.get("type") == "[DONE]":
            reading.ended = True
        for choice in map(as_dict, as_list(chunk.get("choices"))):
            if choice.get("index", 0) == 0:
                _read_choice(reading, calls, choice)
    reading.tool_calls = [call.whole() for call in calls.values()]
    return reading


def _read_choice(reading: Reading, calls: dict[Any, _Call], choice: dict[str, Any]) -> None:
    message = as_dict(choice.get("delta")) or as_dict(choice.get("message"))
    reading.texts.append(content_text(message.get("content")) or as_text(message.get("refusal")))
    reading.thoughts.append(as_text(message.get("reasoning_content")) or as_text(message.get("reasoning")))
    reading.ended = reading.ended or bool(choice.get("finish_reason"))
    for position, piece in enumerate(map(as_dict, as_list(message.get("tool_calls")))):
        function = as_dict(piece.get("function"))
        call = calls.setdefault(_place(piece, position, calls), _Call())
        call.id = call.id or as_text(piece.get("id"))
        call.name = call.name or as_text(function.get("name"))
        arguments = function.get("arguments")
        call.arguments.append(as_json_text(arguments) if arguments is not None else "")


def _place(piece: dict[str, Any], position: int, calls: dict[Any, _Call]) -> Any:
    """Which call a piece belongs to: its index; endpoints that send none send whole calls with ids."""
    place = piece.get("index")
    if isinstance(place, int):
        return place
    return as_text(piece.get("id")) or (len(calls) + position)


def _usage(value: object) -> Usage | None:
    fields = as_dict(value)
    if not fields:
        return None
    details = as_dict(fields.get("prompt_tokens_details"))
    prompt = as_count(fields.get("prompt_tokens"))
    cached = as_count(details.get("cached_tokens", fields.get("prompt_cache_hit_tokens")))
    written = as_count(details.get("cache_write_tokens", details.get("cache_creation_tokens")))
    output = as_count(fields.get("completion_tokens"))
    reasoning = as_count(as_dict(fields.get("completion_tokens_details")).get("reasoning_tokens"))
    if prompt is not None and output is not None and reasoning:
        # Some endpoints count reasoning beside the completion; their total gives them away.
        beside = as_count(fields.get("total_tokens")) == prompt + output + reasoning
        output += reasoning if beside else 0
    return Usage(
        fresh_input=less(prompt, cached, written),
        cache_read=cached,
        cache_write=written,
        output=output,
        reasoning=reasoning,
    )


def tool_results(request: dict[str, Any]) -> list[ToolResult]:
    """What the agent sent back for tool calls, in order."""
    return [
        ToolResult(id=as_text(message.get("tool_call_id")), text=content_text(message.get("content")))
        for message in map(as_dict, as_list(request.get("messages")))
        if message.get("role") == "tool"
    ]
