"""Gemini generateContent: whole candidates, or a stream of partial ones.

Function calls often have no id. They get one by counting the calls of each name through the conversation, so
that the n-th call and the n-th response of a name are found under the same id.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from runbook.gateway.records import ToolCall, ToolResult, Usage
from runbook.gateway.wires.reading import (
    Reading,
    as_count,
    as_dict,
    as_json_text,
    as_list,
    as_text,
    error_text,
    less,
    objects,
)


def read_response(body: bytes, content_type: str, request: dict[str, Any]) -> Reading:
    """Read a streamed or whole answer, cut ones included; only the first candidate is read."""
    reading = Reading()
    earlier = Counter(
        as_text(as_dict(part["functionCall"]).get("name"))
        for part in _parts(request.get("contents"))
        if "functionCall" in part
    )
    for chunk in objects(body, content_type):
        reading.model = as_text(chunk.get("modelVersion")) or reading.model
        reading.usage = _usage(chunk.get("usageMetadata")) or reading.usage
        if chunk.get("error"):
            reading.error = error_text(chunk["error"])
        if as_dict(chunk.get("promptFeedback")).get("blockReason"):
            reading.ended = True
        candidates = as_list(chunk.get("candidates"))
        candidate = as_dict(candidates[0]) if candidates else {}
        reading.ended = reading.ended or bool(candidate.get("finishReason"))
        for part in _parts([candidate.get("content")]):
            _read_part(reading, part, earlier)
    return reading


def _parts(contents: object) -> Iterator[dict[str, Any]]:
    for content in map(as_dict, as_list(contents)):
        yield from map(as_dict, as_list(content.get("parts")))


def _read_part(reading: Reading, part: dict[str, Any], earlier: Counter[str]) -> None:
    if "functionCall" in part:
        call = as_dict(part["functionCall"])
        name = as_text(call.get("name"))
        earlier[name] += 1
        reading.tool_calls.append(
            ToolCall(
                id=as_text(call.get("id")) or f"{name}#{earlier[name]}",
                name=name,
                arguments=as_json_text(call.get("args", {})),
            )
        )
    elif part.get("thought") is True:
        reading.thoughts.append(as_text(part.get("text")))
    else:
        reading.texts.append(as_text(part.get("text")))


def _usage(value: object) -> Usage | None:
    fields = as_dict(value)
    prompt = as_count(fields.get("promptTokenCount"))
    candidates = as_count(fields.get("candidatesTokenCount"))
    thoughts = as_count(fields.get("thoughtsTokenCount"))
    if prompt is None and candidates is None:
        return None
    cached = as_count(fields.get("cachedContentTokenCount"))
    fresh = less(prompt, cached)
    tool_prompt = as_count(fields.get("toolUsePromptTokenCount")) or 0
    said = None if candidates is None and thoughts is None else (candidates or 0) + (thoughts or 0)
    return Usage(
        fresh_input=None if fresh is None else fresh + tool_prompt,
        # The field is left out where it would be 0.
        cache_read=cached or 0,
        output=said,
        reasoning=thoughts or 0,
    )


def tool_results(request: dict[str, Any]) -> list[ToolResult]:
    """What the agent sent back for function calls, in order."""
    counts: Counter[str] = Counter()
    results = []
    for part in _parts(request.get("contents")):
        if "functionResponse" not in part:
            continue
        answer = as_dict(part["functionResponse"])
        name = as_text(answer.get("name"))
        counts[name] += 1
        response = as_dict(answer.get("response"))
        error = response.get("error")
        text = error or response.get("output") or response
        results.append(
            ToolResult(
                id=as_text(answer.get("id")) or f"{name}#{counts[name]}",
                text=as_json_text(text),
                is_error=True if error else None,
            )
        )
    return results
