"""Request bodies as JSON values."""

import json
import zlib
from typing import Any

import orjson

LARGEST_BODY = 64 * 2**20
"""Bytes of a request body, decompressed; providers take less."""


class UnreadableError(Exception):
    """A body that the gateway cannot read, so that it cannot tell what is asked; the message says why."""


class TooLargeError(UnreadableError):
    """A body over `LARGEST_BODY`."""


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
    try:
        plain = unpacker.decompress(body, LARGEST_BODY)
    except zlib.error:
        raise UnreadableError(f"the request body is not {encoding}") from None
    if unpacker.unconsumed_tail:
        raise TooLargeError(f"the request body is over {LARGEST_BODY} bytes")
    if not unpacker.eof:
        raise UnreadableError(f"the request body is not {encoding}")
    return plain


def parse(body: bytes) -> tuple[dict[str, Any], bool]:
    """The JSON object that a body holds, and whether it says all that the body says.

    Lone surrogates, which JavaScript sends, are allowed in JSON and not in UTF-8; they are read as `?`.

    Raises:
        UnreadableError: no JSON object.
    """
    exact = True
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        exact = False
        try:
            lenient = json.loads(body)
            value = orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise UnreadableError("the request body is not JSON") from None
    if not isinstance(value, dict):
        raise UnreadableError("the request body is not a JSON object")
    return value, exact
