"""Request bodies as JSON values."""

import json
import zlib
from typing import Any

import orjson

LARGEST_BODY = 64 * 2**20
"""Bytes of a request body, decompressed; providers take less."""
MOST_VALUES = 200_000
"""Values in a request body. A conversation of a thousand turns has a tenth of it; each costs more memory than
the two bytes that it may consist of."""
_MOST_MARKS = 1_000_000
"""Commas and brackets in a body, those in its texts included: a bound that is known before parsing."""
DEEPEST = 200
"""Levels of a body that is taken apart; what writes JSON gives up a little below."""
_DENSEST = 200
"""Bytes that one compressed byte of a large body may stand for."""
_SMALL_BODY = 2**20
_BYTES_A_VALUE = 64


class UnreadableError(Exception):
    """A body that the gateway cannot read, so that it cannot tell what is asked; the message says why."""


class TooLargeError(UnreadableError):
    """A body of more bytes or values than any provider takes."""


def decompress(body: bytes, encoding: str) -> bytes:
    """The body without its content encoding.

    Raises:
        UnreadableError: an encoding other than gzip and deflate, damaged data, or too much of it.
    """
    if encoding in {"", "identity"}:
        return body
    if encoding not in {"gzip", "deflate"}:
        raise UnreadableError(f"request bodies may be sent plain, as gzip or as deflate, not as {encoding}")
    unpacker = zlib.decompressobj(wbits=47)
    largest = min(LARGEST_BODY, max(_SMALL_BODY, _DENSEST * len(body)))
    try:
        plain = unpacker.decompress(body, largest)
    except zlib.error:
        raise UnreadableError(f"the request body is not {encoding}") from None
    if unpacker.unconsumed_tail:
        raise TooLargeError(f"the request body is over {largest} bytes once it is unpacked")
    if not unpacker.eof:
        raise UnreadableError(f"the request body is not {encoding}")
    return plain


def weight_of(body: bytes) -> int:
    """Bytes of memory that a body takes, about, once it is parsed."""
    return len(body) + _BYTES_A_VALUE * _marks(body)


def parse(body: bytes) -> tuple[dict[str, Any], bool]:
    """The JSON object that a body holds, and whether it says all that the body says.

    Lone surrogates, which JavaScript sends, are allowed in JSON and not in UTF-8; they are read as `?`. An
    object nested deeper than `DEEPEST` is whole, but counts as inexact: what writes JSON cannot write it.

    Raises:
        UnreadableError: no JSON object, or one of too many values.
    """
    marks = _marks(body)
    if marks > _MOST_MARKS:
        raise TooLargeError(f"the request body holds over {_MOST_MARKS} commas and brackets")
    value, exact = _loads(body)
    if not isinstance(value, dict):
        raise UnreadableError("the request body is not a JSON object")
    if marks > DEEPEST:
        exact = not is_deep(value) and exact
    return value, exact


def _marks(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of twins the provider might read another one than we."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise UnreadableError(f"the request body names {twin!a:.60} twice in one object")
    return fields


def _loads(body: bytes) -> tuple[Any, bool]:
    try:
        lenient = json.loads(body, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError):
        raise UnreadableError("the request body is not JSON") from None
    try:
        return orjson.loads(body), True
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace")), False
    except (ValueError, RecursionError):
        raise UnreadableError("the request body is not JSON") from None


def is_deep(value: Any) -> bool:
    """True where a value has more than `DEEPEST` levels; TooLargeError where it has too many values."""
    level, values = [value], 0
    for _ in range(DEEPEST):
        below = [item for item in level if isinstance(item, dict | list)]
        if not below:
            return False
        values += sum(map(len, below))
        if values > MOST_VALUES:
            raise TooLargeError(f"the request body holds over {MOST_VALUES} values")
        level = [item for outer in below for item in (outer.values() if isinstance(outer, dict) else outer)]
    return True
