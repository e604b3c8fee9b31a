"""Request bodies in parts, so that a conversation which resends itself is stored once.

A body becomes a tree of parts, each named by the SHA-256 of its text:

- a long string (an image, a tool's output, a system prompt) is a part of its own: `{"$part": digest}`;
- a list under a top-level key (messages, input, contents, tools) is `{"$list": digest}`, and that part says
  how the list grew out of an earlier one: `{"after": digest or null, "keep": n, "items": [...]}` means the
  first n items of the earlier list and then these;
- an object that happens to look like one of these is wrapped: `{"$plain": {...}}`.

The root part is the body's top-level value with all this put in.
"""

import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson

_LONG = 256
"""Characters from which a string is a part of its own; below, its digest would cost as much as it saves."""
_REMEMBERED = 8
"""Lists that a new one may continue: an agent holds few conversations at a time."""
_LONGEST_REMEMBERED = 20_000
"""Items of a list that is remembered; no conversation has so many, and each costs memory."""
_MARKS = ({"$part"}, {"$list"}, {"$plain"})


def digest_of(data: bytes) -> str:
    """The name of a part."""
    return hashlib.sha256(data).hexdigest()


class Splitter:
    """Splits the bodies of one attempt; remembers the ends of recent lists, not the bodies."""

    def __init__(self) -> None:
        self._recent: deque[tuple[str, list[bytes]]] = deque(maxlen=_REMEMBERED)

    def split(self, body: Any) -> tuple[str, dict[str, bytes]]:
        """The digest of the root part, and all parts that the body consists of, by digest.

        Parts that were returned for an earlier body and are only referred to need not be in the result.
        """
        parts: dict[str, bytes] = {}
        if isinstance(body, dict):
            tree = _wrapped(
                {
                    key: self._list(value, parts) if isinstance(value, list) else _pack(value, parts)
                    for key, value in body.items()
                },
                like=body,
            )
        else:
            tree = _pack(body, parts)
        return _put(orjson.dumps(tree), parts), parts

    def _list(self, items: list[Any], parts: dict[str, bytes]) -> dict[str, str]:
        packed = [orjson.dumps(_pack(item, parts)) for item in items]
        marks = [hashlib.sha256(item).digest()[:16] for item in packed]
        after, keep = self._longest_start(marks)
        if after is not None and keep == len(marks) and self._is_whole(after, keep):
            return {"$list": after}
        node = orjson.dumps(
            {"after": after, "keep": keep, "items": [orjson.Fragment(item) for item in packed[keep:]]}
        )
        digest = _put(node, parts)
        if len(marks) <= _LONGEST_REMEMBERED:
            self._recent.append((digest, marks))
        return {"$list": digest}

    def _longest_start(self, marks: list[bytes]) -> tuple[str | None, int]:
        best: tuple[str | None, int] = (None, 0)
        for digest, earlier in reversed(self._recent):
            keep = _common_start(marks, earlier)
            if keep > best[1]:
                best = (digest, keep)
        return best

    def _is_whole(self, digest: str, length: int) -> bool:
        return any(name == digest and len(marks) == length for name, marks in self._recent)


def join(root: str, load: Callable[[str], bytes]) -> Any:
    """The body whose root part is `root`; `load` gives a part's bytes by digest.

    Raises:
        KeyError: from `load`, where a part is missing.
        ValueError: a part is not what its place calls for.
    """
    lists: dict[str, list[Any]] = {}

    def unpack(value: Any) -> Any:
        if isinstance(value, list):
            return [unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        match value:
            case {"$part": str(digest)} if len(value) == 1:
                return load(digest).decode("utf-8")
            case {"$list": str(digest)} if len(value) == 1:
                return whole_list(digest)
            case {"$plain": dict(plain)} if len(value) == 1:
                value = plain
        return {key: unpack(item) for key, item in value.items()}

    def whole_list(digest: str) -> list[Any]:
        chain: list[tuple[str, dict[str, Any]]] = []
        at: str | None = digest
        while at is not None and at not in lists:
            node = orjson.loads(load(at))
            chain.append((at, node))
            at = node["after"]
        start = lists[at] if at is not None else []
        for name, node in reversed(chain):
            start = start[: node["keep"]] + [unpack(item) for item in node["items"]]
            lists[name] = start
        return start

    return unpack(orjson.loads(load(root)))


def _pack(value: Any, parts: dict[str, bytes]) -> Any:
    if isinstance(value, str):
        return {"$part": _put(value.encode("utf-8"), parts)} if len(value) >= _LONG else value
    if isinstance(value, list):
        return [_pack(item, parts) for item in value]
    if isinstance(value, dict):
        return _wrapped({key: _pack(item, parts) for key, item in value.items()}, like=value)
    return value


def _wrapped(packed: dict[str, Any], *, like: dict[str, Any]) -> dict[str, Any]:
    return {"$plain": packed} if like.keys() in _MARKS else packed


def _put(data: bytes, parts: dict[str, bytes]) -> str:
    digest = digest_of(data)
    parts[digest] = data
    return digest


def _common_start(one: list[bytes], other: list[bytes]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
