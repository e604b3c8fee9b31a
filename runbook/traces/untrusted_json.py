"""JSON that an agent printed: anything can be missing, of another type, huge, or not JSON at all."""

import json
import math
from collections.abc import Mapping
from typing import Any

import orjson

TEXT_CHARACTERS = 32 * 1024
"""Longest text kept in an event: a command, a message."""
OUTPUT_CHARACTERS = 8 * 1024
RAW_CHARACTERS = 2 * 1024
NAME_CHARACTERS = 200
_NOTHING: Mapping[str, Any] = {}


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object in a line; None where it holds none."""
    try:
        value = orjson.loads(line)
    except ValueError:
        value = _parse_leniently(line)
    return value if isinstance(value, dict) else None


def _parse_leniently(line: bytes) -> Any:
    """Takes invalid UTF-8 too, and halves of surrogate pairs, which JavaScript leaves where it cuts."""
    text = line.decode("utf-8", "replace")
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def excerpt(value: object, limit: int = TEXT_CHARACTERS) -> str:
    """A text of at most `limit` characters: the beginning, and of what is cut the end as well."""
    if not isinstance(value, str):
        return ""
    if len(value) > limit:
        tail = limit // 4
        mark = f"\n[... {len(value) - limit} characters left out ...]\n"
        value = value[: limit - tail] + mark + value[-tail:]
    return writable(value)


def writable(text: str) -> str:
    """The text with half surrogates replaced, so that it can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def name(value: object) -> str:
    """A short text: an id, a type, a tool's name."""
    return writable(value[:NAME_CHARACTERS]) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """A count: not negative, not a truth value, of a believable size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value) if value == int(value) else None


def integer(value: object) -> int | None:
    """An exit code."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31 else None


def amount(value: object) -> float | None:
    """Seconds or money: finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value) if abs(value) < 2**53 else math.inf
    return number if math.isfinite(number) and number >= 0 else None


def size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def said(content: object) -> str:
    """The text of a message's or result's content: a text, or blocks some of which are texts."""
    if isinstance(content, str):
        return content
    blocks = (mapping(block).get("text") for block in items(content))
    return "\n".join(text for text in blocks if isinstance(text, str))
