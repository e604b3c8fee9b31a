"""Provider keys: read on the host, put into requests, and kept out of everything else."""

import os
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from runbook.gateway.records import Wire
from runbook.gateway.settings import GatewayError, ProviderSettings

_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
# What tells a provider how to answer, and which client asks. Everything else stays here: a header could name
# an account, a host, another method, or an encoding that the body no longer has.
_FORWARDED = {
    "accept",
    "accept-language",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "conversation_id",
    "http-referer",
    "openai-beta",
    "originator",
    "session_id",
    "user-agent",
    "version",
    "x-app",
    "x-client-request-id",
    "x-goog-api-client",
    "x-title",
}
_FORWARDED_FAMILIES = ("x-stainless-", "x-codex-", "x-claude-code-", "x-dashscope-")
_NOT_RETURNED = _HOP_BY_HOP | {"set-cookie", "alt-svc", "date", "server"}
DECODED = {"", "identity", "gzip", "deflate"}
"""Content encodings that the HTTP client takes off, so that a key can be seen in what they held."""
_MASK = b"*"
_SHORTEST_SECRET = 8
"""What is shorter is a word that a local server takes for a key: `none`, `EMPTY`. Answers may hold it."""
_BACKSLASH = 0x5C
_BACKSLASHES = 4
"""Escapes of a character are found where so many backslashes lead to it: JSON in JSON has two, and so on."""


class Key(str):
    """A key that shows nothing when a traceback or a log prints what holds it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Key(...)"


def read_key(name: str, provider: ProviderSettings) -> Key:
    """The key of a provider, or "" where it wants none.

    Raises:
        GatewayError: the variable or file is missing or empty.
    """
    if provider.key_file is not None:
        try:
            key = provider.key_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            raise GatewayError(f"the key file of provider {name} cannot be read: {error}") from None
        if not key:
            raise GatewayError(f"the key file of provider {name} is empty: {provider.key_file}")
    elif provider.key_env:
        key = os.environ.get(provider.key_env, "").strip()
        if not key:
            raise GatewayError(f"set {provider.key_env}, the key of provider {name}")
    else:
        return Key()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise GatewayError(f"the key of provider {name} holds characters that no HTTP header can carry")
    return Key(key)


def key_header(wire: Wire, key: str) -> dict[str, str]:
    """The header that carries a key in this protocol."""
    if not key:
        return {}
    if wire is Wire.ANTHROPIC_MESSAGES:
        return {"x-api-key": key}
    if wire is Wire.GEMINI:
        return {"x-goog-api-key": key}
    return {"authorization": f"Bearer {key}"}


def forwarded_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The agent's request headers that the provider may see."""
    plain = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]
    named = {
        item.strip().lower() for name, value in plain if name == "connection" for item in value.split(",")
    }
    return {
        name: value
        for name, value in plain
        if (name in _FORWARDED or name.startswith(_FORWARDED_FAMILIES)) and name not in named
    }


def returned_headers(headers: Iterable[tuple[bytes, bytes]], mask: "KeyMask") -> list[tuple[bytes, bytes]]:
    """The provider's response headers that the agent may see, with the key taken out of their values.

    Those of an encoded body go: it is passed on decoded.
    """
    plain = [(name.decode("latin-1").lower(), value) for name, value in headers]
    encoded = any(name == "content-encoding" for name, _ in plain)
    dropped = _NOT_RETURNED | ({"content-encoding", "content-length"} if encoded else set())
    return [(name.encode("latin-1"), mask.whole(value)) for name, value in plain if name not in dropped]


def without_key(query: str) -> str:
    """A query string without `key=...`, which is how some Gemini clients send theirs."""
    if "key" not in query:
        return query
    return urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"])


class KeyMask:
    """Takes a key out of a stream of bytes, also where two chunks share it; lengths do not change.

    A provider has no reason to send a key back, but error texts and echoing proxies have done so. The key is
    known by its own characters and by their escapes in JSON, also where JSON lies within JSON.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode("ascii") if len(key) >= _SHORTEST_SECRET else b""
        self._pattern = re.compile(b"".join(map(_spellings, self._key)), re.IGNORECASE) if self._key else None
        self._inner = self._key + rb"\\u0123456789abcdefABCDEF"  # what a spelling that goes on can end with
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now; an ending that could be the start of the key is held back."""
        if not self._key:
            return chunk
        data = self.whole(self._held + chunk if self._held else chunk)
        held = self._possible_start(data)
        self._held = data[len(data) - held :] if held else b""
        return data[: len(data) - held] if held else data

    def flush(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    def whole(self, data: bytes) -> bytes:
        """The same bytes without the key, where they are all there is."""
        if not self._key:
            return data
        data = data.replace(self._key, _MASK * len(self._key))
        if self._pattern is not None and b"\\" in data:
            data = self._pattern.sub(lambda found: _MASK * len(found[0]), data)
        return data

    def _possible_start(self, data: bytes) -> int:
        """Length of the longest ending of `data` that the key, escaped or not, could begin with."""
        if data[-1:] not in self._inner:
            return 0
        longest = len(self._key) * (_BACKSLASHES + len("u0000"))
        for at in range(max(0, len(data) - longest), len(data)):
            if data[at] in (self._key[0], _BACKSLASH) and _is_start(data, at, self._key):
                return len(data) - at
        return 0


def _spellings(character: int) -> bytes:
    """A pattern for one character of a key."""
    plain = re.escape(bytes([character]))
    return rb"(?:\\{0,%d}(?-i:%b)|\\{1,%d}u00%02x)" % (_BACKSLASHES, plain, _BACKSLASHES, character)


def _is_start(data: bytes, at: int, key: bytes) -> bool:
    """True where `data` ends within a spelling of the key that begins at `at`."""
    for character in key:
        backslashes = 0
        while data[at : at + 1] == b"\\" and backslashes < _BACKSLASHES:
            at, backslashes = at + 1, backslashes + 1
        escape = b"u00%02x" % character
        rest = data[at : at + len(escape)]
        if not rest or (backslashes and len(rest) < len(escape) and escape.startswith(rest.lower())):
            return True
        if backslashes and rest.lower() == escape:
            at += len(escape)
        elif rest[0] == character:
            at += 1
        else:
            return False
    return False
