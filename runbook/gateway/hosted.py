"""What a request asks the provider's own servers to do, which no sandbox of ours confines.

A provider that searches the web, runs code, calls a remote tool server or fetches an address for the model
hands an agent the network that its sandbox withholds. Tools that the agent itself runs are never hosted.
"""

import re
from collections.abc import Iterator
from typing import Any

from runbook.gateway.records import Wire
from runbook.gateway.refusals import Refusal
from runbook.gateway.wires.reading import as_dict, as_list, as_text

_RESPONSES_OWN = {"function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview"}
_ANTHROPIC_OWN = re.compile(
    r"(?:custom|(?:bash|text_editor|computer|memory|tool_search_tool_[a-z0-9]+)(?:_\d{8})?)?"
)
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
_GEMINI_OWN = {"functiondeclarations", "computeruse"}
_OPENAI_FIELDS = ("web_search_options", "plugins", "models", "prompt", "search_parameters", "enable_search")
"""Fields beside the tools that make a provider fetch, or call another model or a stored prompt."""


def hosted_request(request: dict[str, Any], wire: Wire) -> str:
    """What a request wants done on the provider's side, in words; "" where it wants nothing of that."""
    return next(_FINDERS[wire](request), "")


def refuse_hosted(request: dict[str, Any], wire: Wire) -> Refusal | None:
    """A refusal that names what the request wants done on the provider's side; None where it may pass."""
    wanted = hosted_request(request, wire)
    if not wanted:
        return None
    return Refusal(
        400,
        "hosted_tool_refused",
        f"{wanted} would be served outside of the sandbox; leave it out, or let the run allow it with"
        ' hosted_tools = "allow"',
    )


def _in_responses(request: dict[str, Any]) -> Iterator[str]:
    yield from _tools_of_responses(request.get("tools"))
    yield from _openai_fields(request)
    if request.get("background"):
        yield "background work (background)"
    for part in _parts(request.get("input"), ("content", "output")):
        yield from _address(part.get("image_url"))
        yield from _address(part.get("file_url"))


def _tools_of_responses(tools: object) -> Iterator[str]:
    for tool in _objects(tools):
        kind = as_text(tool.get("type"))
        if kind == "namespace":  # a named group of tools
            yield from _tools_of_responses(tool.get("tools"))
        elif kind == "shell":
            if as_dict(tool.get("environment")).get("type") != "local":
                yield "the tool shell in a container of the provider"
        elif kind == "tool_search":  # looks through the request's own tools
            continue
        elif kind not in _RESPONSES_OWN:
            yield f"the tool {kind or 'without a type'}"


def _in_chat(request: dict[str, Any]) -> Iterator[str]:
    for tool in _objects(request.get("tools")):
        kind = as_text(tool.get("type"))
        if kind not in {"function", "custom"} and not (kind == "" and "function" in tool):
            yield f"the tool {kind or 'without a type'}"
    yield from _openai_fields(request)
    for part in _parts(request.get("messages"), ("content",)):
        for name in ("image_url", "video_url", "audio_url", "file_url"):
            address = part.get(name)
            yield from _address(as_dict(address).get("url") if isinstance(address, dict) else address)
        yield from _address(as_dict(part.get("file")).get("file_data"))


def _openai_fields(request: dict[str, Any]) -> Iterator[str]:
    for name in _OPENAI_FIELDS:
        if request.get(name):
            yield f"the field {name}"


def _in_anthropic(request: dict[str, Any]) -> Iterator[str]:
    for tool in _objects(request.get("tools")):
        kind = as_text(tool.get("type"))
        if not _ANTHROPIC_OWN.fullmatch(kind):
            yield f"the tool {kind}"
    for name in ("mcp_servers", "container"):
        if request.get(name):
            yield f"the field {name}"
    for part in _parts(
        _objects(request.get("messages")) + _objects(request.get("system")), ("content", "source")
    ):
        if part.get("type") == "url":
            yield from _address(part.get("url"))


def _in_gemini(request: dict[str, Any]) -> Iterator[str]:
    for tool in _objects(request.get("tools")):
        for name in tool:
            if name.replace("_", "").lower() not in _GEMINI_OWN:
                yield f"the tool {name}"
    for name in ("contents", "systemInstruction", "system_instruction"):
        for part in _parts(request.get(name), ("parts", "functionResponse", "function_response")):
            file = as_dict(part.get("fileData") or part.get("file_data"))
            yield from _address(file.get("fileUri") or file.get("file_uri"))


_FINDERS = {
    Wire.OPENAI_RESPONSES: _in_responses,
    Wire.OPENAI_CHAT: _in_chat,
    Wire.ANTHROPIC_MESSAGES: _in_anthropic,
    Wire.GEMINI: _in_gemini,
}


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; where there is one object in its place, that one."""
    return [as_dict(item) for item in ([value] if isinstance(value, dict) else as_list(value))]


def _parts(items: object, names: tuple[str, ...], depth: int = 6) -> Iterator[dict[str, Any]]:
    """The objects of messages, and those that lie in them under `names`, as deep as providers look."""
    for item in _objects(items):
        yield item
        for name in names if depth else ():
            yield from _parts(item.get(name), names, depth - 1)


def _address(value: object) -> Iterator[str]:
    """A place that the provider would fetch from. Data that lies in the request itself is no such place."""
    found = _SCHEME.match(as_text(value))
    if found and found[1].lower() != "data":
        yield f"content from the address {as_text(value).strip():.80}"
