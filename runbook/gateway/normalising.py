"""Requests without what differs from run to run: the key under which a recording is found again."""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import orjson

from runbook.gateway.records import Wire


class Volatile:
    """The rules of `volatile.toml`."""

    def __init__(self) -> None:
        table = tomllib.loads(files(__package__).joinpath("volatile.toml").read_text(encoding="utf-8"))
        self._drop: dict[str, list[str]] = table["drop"]
        self._patterns = [(re.compile(pattern), f"<{name}>") for name, pattern in table["replace"].items()]

    def without(self, request: Any, wire: Wire, strings: Sequence[str]) -> Any:
        """A request's JSON value without volatile fields, patterns and the attempt's own `strings`."""
        value = self._plain(request, sorted(enumerate(strings), key=lambda item: -len(item[1])))
        for path in self._drop.get(wire.value, ()):
            _drop(value, path.split("."))
        return value

    def _plain(self, value: Any, strings: list[tuple[int, str]]) -> Any:
        if isinstance(value, str):
            return self._plain_text(value, strings)
        if isinstance(value, list):
            return [self._plain(item, strings) for item in value]
        if isinstance(value, dict):
            return {self._plain_text(key, strings): self._plain(item, strings) for key, item in value.items()}
        return value

    def _plain_text(self, text: str, strings: list[tuple[int, str]]) -> str:
        for number, string in strings:
            if string:
                text = text.replace(string, f"<volatile {number}>")
        if not any(character.isdigit() for character in text) and "/tmp/" not in text and "_" not in text:
            return text
        for pattern, name in self._patterns:
            text = pattern.sub(name, text)
        return text


def request_key(method: str, path_and_query: str, plain_request: Any) -> str:
    """The key of a normalised request; the order of object keys does not matter."""
    value = [method, path_and_query, plain_request]
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _drop(value: Any, path: list[str]) -> None:
    for name in path[:-1]:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value.pop(path[-1], None)
