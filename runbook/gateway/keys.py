"""Provider keys: read on the host, put into requests, and kept out of everything else."""

import os
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
# Whatever could name an account, a host or a body that is no longer the agent's own.
_NOT_FORWARDED = _HOP_BY_HOP | {
    "accept-encoding",
    "api-key",
    "authorization",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "openai-organization",
    "openai-project",
    "x-api-key",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-goog-api-key",
    "x-goog-user-project",
}
_NOT_RETURNED = _HOP_BY_HOP | {"set-cookie", "alt-svc", "date", "server"}
_MASK = b"*"


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
    return {name: value for name, value in plain if name not in _NOT_FORWARDED and name not in named}


def returned_headers(headers: Iterable[tuple[bytes, bytes]], key: str) -> list[tuple[bytes, bytes]]:
    """The provider's response headers that the agent may see, with the key taken out of their values."""
    secret = key.encode("ascii")
    return [
        (name.lower(), value.replace(secret, _MASK * len(secret)) if secret else value)
        for name, value in headers
        if name.decode("latin-1").lower() not in _NOT_RETURNED
    ]


def without_key(query: str) -> str:
    """A query string without `key=...`, which is how some Gemini clients send theirs."""
    if "key" not in query:
        return query
    return urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "key"])


class KeyMask:
    """Takes a key out of a stream of bytes, also where two chunks share it; lengths do not change.

    A provider has no reason to send a key back, but error texts and echoing proxies have done so.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode("ascii")
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now; an ending that could be the start of the key is held back."""
        key = self._key
        if not key:
            return chunk
        data = (self._held + chunk) if self._held else chunk
        if key in data:
            data = data.replace(key, _MASK * len(key))
        held = self._possible_start(data)
        self._held = data[len(data) - held :] if held else b""
        return data[: len(data) - held] if held else data

    def flush(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    def _possible_start(self, data: bytes) -> int:
        if data[-1:] not in self._key[:-1]:
            return 0
        for length in range(min(len(self._key) - 1, len(data)), 0, -1):
            if data.endswith(self._key[:length]):
                return length
        return 0
