"""What is read out of an exchange, and the small tools that the protocols share.

Everything here comes from a provider or an agent: any field may be missing or of another type.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from runbook.gateway.records import ToolCall, Usage

_MOST_DIGITS = 100
_LARGEST_COUNT = 10**12
"""Tokens; a number above is no count, and sums of it would fit no record."""


@dataclass(slots=True)
class Reading:
    """What a response said. `ended` is False where the protocol's own end was missing."""

    model: str | None = None
    usage: Usage | None = None
    texts: list[str] = field(default_factory=list)
    """Pieces: a long answer comes in hundreds of thousands, and joining them one by one takes minutes."""
    thoughts: list[str] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    ended: bool = False
    error: str = ""
    """An error reported inside a good response (status 200), in the provider's words."""

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def reasoning(self) -> str:
        return "".join(self.thoughts)


class Growing:
    """An item of a stream: what its start said, and the texts that grow by pieces since."""

    def __init__(self, start: object = None) -> None:
        self._start = as_dict(start)
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, name: str, piece: object) -> None:
        """Add to the text of a field; what is no string counts as none."""
        self._pieces[name].append(as_text(piece))

    def whole(self) -> dict[str, Any]:
        """The item as it is by now."""
        texts = {name: as_text(self._start.get(name)) + "".join(made) for name, made in self._pieces.items()}
        return {**self._start, **texts}


def as_dict(value: object) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The value where it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int | None:
    """A token count, or None where the field does not hold one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _LARGEST_COUNT else None


def as_json_text(value: object) -> str:
    """Tool arguments as text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        pass  # nested too deep for it
    try:
        return json.dumps(value)
    except RecursionError:
        return "[nested too deep]"


def less(total: int | None, *parts: int | None) -> int | None:
    """`total` without its known parts."""
    return None if total is None else max(0, total - sum(part or 0 for part in parts))


def content_text(content: object) -> str:
    """The text of a message's or tool result's content; other parts are named by their type in brackets."""
    if isinstance(content, list):
        return "\n".join(_part_text(part) for part in content)
    return content if isinstance(content, str) else "" if content is None else as_json_text(content)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_dict(part)
    text = fields.get("text")
    return text if isinstance(text, str) else f"[{as_text(fields.get('type')) or 'part'}]"


def error_text(value: object) -> str:
    """An error object in words: `type or code: message`."""
    if isinstance(value, str):
        return value
    fields = as_dict(value)
    kind = next((str(fields[name]) for name in ("type", "code", "status") if fields.get(name)), "")
    message = as_text(fields.get("message"))
    return ": ".join(part for part in (kind, message) if part) or "error"


def loads(data: bytes) -> Any:
    """The JSON value that a provider sent, read as widely as agents' own parsers do.

    Lone surrogates and bytes that are no UTF-8 become marks of replacement, what is no number becomes None.

    Raises:
        ValueError: no JSON all the same.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(
            data.decode("utf-8", "replace"),
            parse_float=_finite,
            parse_int=lambda digits: int(digits) if len(digits) < _MOST_DIGITS else None,
            parse_constant=lambda _: None,
            strict=False,
        )
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deep") from None


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def events(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of an event stream; anything else in it is passed over."""
    for data in _event_data(body):
        if data == b"[DONE]":
            yield {"type": "[DONE]"}
            continue
        try:
            event = loads(data)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _event_data(body: bytes) -> Iterator[bytes]:
    lines: list[bytes] = []
    for line in body.splitlines():
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif not line and lines:
            yield b"\n".join(lines)
            lines = []
    if lines:
        yield b"\n".join(lines)


def objects(body: bytes, content_type: str) -> Iterable[dict[str, Any]]:
    """The objects that a response consists of: one, or many where it is a stream or a JSON array."""
    if "event-stream" in content_type or body.startswith((b"data:", b"event:", b":")):
        return events(body)
    try:
        value = loads(body)
    except ValueError:
        return ()
    return [item for item in as_list(value) if isinstance(item, dict)] or [as_dict(value)]
