"""Who is on a line, without parsing all of it: the head of the record, its first and its last state.

A survey of a 0.95 GB file looks at each line before anything is imported. Each piece is parsed as JSON of
its own, and where the pieces do not prove that they are what they seem, the answer is None and the whole line
must be read.
"""

import re
from typing import Any, NamedTuple

import orjson

from .convention import told_by_ends
from .model import Convention
from .sanitise import recorded_id

_LIST = re.compile(rb'"(states|content)"\s*:\s*\[\s*')


class Peek(NamedTuple):
    """The id of a trajectory, and what its ends say of its convention."""

    id: str
    convention: Convention


def peek(line: bytes) -> Peek | None:
    """What the ends of the line tell, None where they do not tell for sure."""
    line = line.rstrip()
    opening = _LIST.search(line)
    if opening is None or not line.endswith(b"}]}"):
        return None
    gaps = _gaps(line, opening.end())
    if not gaps:
        return None
    head = _parsed(line[: opening.end()] + b"]}")
    first = _parsed(line[opening.end() : gaps[0] + 1])
    last = _parsed(line[line.index(b"{", gaps[-1]) : -2])
    if head is None or first is None or last is None or head.get(opening.group(1).decode()) != []:
        return None
    return _peek(head, first, last)


def _gaps(line: bytes, start: int) -> list[int]:
    """Where objects end that another one follows in a list; none if the last list is not the first one."""
    found = []
    at = line.find(b"}", start)
    while at >= 0:
        after = line[at + 1 : at + 5].replace(b" ", b"")
        if after.startswith(b",{"):
            found.append(at)
        elif after.startswith(b"]") and at + 3 != len(line):
            return []
        at = line.find(b"}", at + 1)
    return found


def _peek(head: dict[str, Any], first: dict[str, Any], last: dict[str, Any]) -> Peek | None:
    actions = [state.get("action") for state in (first, last)]
    if not isinstance(head.get("id"), str) or not head["id"]:
        return None
    if not all(action is None or isinstance(action, str) for action in actions):
        return None
    return Peek(recorded_id(head["id"]), told_by_ends(bool(actions[0]), bool(actions[1])))


def _parsed(piece: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(piece)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
