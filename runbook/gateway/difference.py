"""Where two requests differ, for a person to read."""

from collections.abc import Iterator
from typing import Any

_SHOWN = 3
_AROUND = 40
_MISSING = "(nothing)"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The scalar values inside a JSON value with their places, such as `messages[3].content`."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, value if not isinstance(value, dict | list) else str(value)


def likeness(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Share of leaves that two flattened requests have in common."""
    same = sum(1 for path, value in one.items() if path in other and other[path] == value)
    return same / max(1, len(one), len(other))


def describe_difference(recorded: dict[str, Any], asked: dict[str, Any]) -> str:
    """The first few places where two flattened requests differ, with both values around the difference."""
    places = [
        path for path in {**recorded, **asked} if recorded.get(path, _MISSING) != asked.get(path, _MISSING)
    ]
    said = []
    for path in places[:_SHOWN]:
        one, other = _around(str(recorded.get(path, _MISSING)), str(asked.get(path, _MISSING)))
        said.append(f"{path}: recorded {one!r}, now {other!r}")
    more = len(places) - _SHOWN
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "")


def _around(one: str, other: str) -> tuple[str, str]:
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    start = max(0, at - _AROUND // 2)
    return one[start : start + _AROUND * 2], other[start : start + _AROUND * 2]
