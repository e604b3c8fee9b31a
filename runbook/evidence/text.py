"""From the bytes an agent wrote to one JSON object: lenient on form, every repair named.

A BOM, a code fence, text around the object, several objects (the last one with a known key counts), raw
line breaks in strings, doubled keys, halves of characters and NaN are repaired. What is not UTF-8 or holds
no object is refused.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from runbook.half_characters import without_halves

_BOM = b"\xef\xbb\xbf"
_OBJECT_START = re.compile(r'\{\s*(?=["}])')
_FENCE_START = re.compile(r"```[\w-]*")
_SCAN_BUDGET = 8 * 1024 * 1024  # characters: broken objects inside each other cost their length each time
_FAILURE_COST = 4096  # what a failed attempt costs besides, in the same unit
_RECURSION_COST = 100_000  # what an attempt at hopeless nesting costs
_LARGEST = 2**63 - 1  # beyond it an integer has no meaning here and cannot be stored


class NotUtf8(Exception):  # noqa: N818 - says what it is
    """The bytes are no UTF-8 text."""


class NoObject(Exception):  # noqa: N818 - says what it is
    """The text holds no JSON object with a known key."""


@dataclass(slots=True)
class FoundObject:
    """One JSON object and what had to be repaired to read it."""

    value: dict[str, Any]
    repairs: list[str] = field(default_factory=list)


def find_object(data: bytes, known_keys: Collection[str]) -> FoundObject:
    """The last JSON object in `data` that has one of `known_keys`.

    Raises:
        NotUtf8, NoObject: with a sentence for the record.
    """
    repairs: list[str] = []
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
        repairs.append("byte order mark removed")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8(f"not UTF-8: {error.reason} at byte {error.start}") from error
    whole = without_halves(text)
    if whole != text:
        repairs.append("halves of characters replaced")
    found = _scan(whole, known_keys)
    repairs += _form_repairs(whole, found)
    return FoundObject(found.value, [*repairs, *found.repairs])


@dataclass(slots=True)
class _Located:
    value: dict[str, Any]
    start: int
    end: int
    repairs: list[str]
    seen: int = 1  # objects in the text


def _scan(text: str, known_keys: Collection[str]) -> _Located:
    """Walk over all outermost objects; one that does not parse is entered in search of inner ones."""
    last: _Located | None = None
    position = seen = spent = 0
    while match := _OBJECT_START.search(text, position):
        decoded, cost = _decode(text, match.start())
        spent += cost
        if spent > _SCAN_BUDGET:
            raise NoObject("too many broken objects")
        if decoded is None:
            position = match.end()
            continue
        seen += 1
        position = decoded.end
        if not decoded.value.keys().isdisjoint(known_keys):
            last = decoded
    if last is None:
        raise NoObject("no JSON object" if not seen else "no JSON object with a known key")
    last.seen = seen
    return last


def _decode(text: str, start: int) -> tuple[_Located | None, int]:
    """The object at `start`, if there is one, and what looking cost in characters."""
    cost = 0
    for strict in (True, False):
        repairs: list[str] = []
        decoder = _decoder(repairs, strict=strict)
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            cost += error.pos - start + _FAILURE_COST
            if not error.msg.startswith("Invalid control character"):
                break
        except RecursionError:
            return None, cost + _RECURSION_COST
        else:
            if not strict:
                repairs.append("raw control characters in strings accepted")
            return _Located(value, start, end, repairs), 0
    return None, cost


def _decoder(repairs: list[str], *, strict: bool) -> json.JSONDecoder:
    def keep_last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs) and len(repairs) < 20:
            keys = [key for key, _ in pairs]
            doubled = sorted({key[:40] for key in keys if keys.count(key) > 1}) if len(keys) < 1000 else []
            repairs.append(f"doubled key, the last counts: {', '.join(map(repr, doubled[:5]))}")
        return value

    def no_constant(name: str) -> None:
        if len(repairs) < 20:
            repairs.append(f"{name} read as null")

    return json.JSONDecoder(
        object_pairs_hook=keep_last, parse_int=_bounded_int, parse_constant=no_constant, strict=strict
    )


def _bounded_int(digits: str) -> int:
    if len(digits) < 19:
        return int(digits)
    return -_LARGEST if digits.startswith("-") else _LARGEST


def _form_repairs(text: str, found: _Located) -> list[str]:
    before, after = text[: found.start].strip(), text[found.end :].strip()
    if found.seen > 1:
        return [f"{found.seen} objects; the last with a known key counts"]
    if not before and not after:
        return []
    if _FENCE_START.fullmatch(before) and after == "```":
        return ["code fence removed"]
    return ["text around the object removed"]
