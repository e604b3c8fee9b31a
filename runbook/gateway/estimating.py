"""How many tokens a call takes where nobody has said it, by the length of its texts."""

from typing import Any

from runbook.gateway.exchange import Exchange
from runbook.gateway.records import ModelCall, Usage
from runbook.gateway.wires.reading import as_count, as_dict

_CHARACTERS_A_TOKEN = 4
_TOKENS_OF_AN_IMAGE = 1600
_LONG = 2000
"""Characters without a space from which a text is taken for encoded data."""
_USUAL_OUTPUT = 4096
"""Tokens to expect of a call that sets no limit."""
_LIMITS = ("max_output_tokens", "max_completion_tokens", "max_tokens")


def expected_usage(exchange: Exchange) -> Usage:
    """What a call that is about to start may take: its whole request, and as much output as it allows."""
    request = as_dict(exchange.request)
    limits = [as_count(request.get(name)) for name in _LIMITS]
    limits.append(as_count(as_dict(request.get("generationConfig")).get("maxOutputTokens")))
    output = next((limit for limit in limits if limit is not None), _USUAL_OUTPUT)
    return Usage(fresh_input=len(exchange.body) // _CHARACTERS_A_TOKEN, output=output)


def untold_usage(call: ModelCall, request: Any) -> Usage | None:
    """What a call took beyond what its answer told; None where it told all, or took nothing.

    An answer that was broken off tells of its output too little or nothing.
    """
    if call.wire is None or (call.status is not None and call.status >= 400):
        return None
    told = call.usage or Usage()
    entered = _tokens_of(request) if told.fresh_input is None else 0
    output = 0
    if told.output is None or call.cut:
        said = len(call.text) + len(call.reasoning)
        said += sum(len(tool.name) + len(tool.arguments) for tool in call.tool_calls)
        output = max(0, said // _CHARACTERS_A_TOKEN - (told.output or 0))
    return Usage(fresh_input=entered, output=output) if entered or output else None


def _tokens_of(request: Any) -> int:
    """Of all texts in a request; images and other data count as one image each."""
    characters, images, left = 0, 0, [request]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            characters += sum(map(len, value))
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            data = len(value) > _LONG and " " not in value[:_LONG]
            images += data
            characters += 0 if data else len(value)
    return characters // _CHARACTERS_A_TOKEN + images * _TOKENS_OF_AN_IMAGE
