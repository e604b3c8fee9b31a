"""Which states show a line: looked up in the index instead of read.

The table `lines` holds for each bucket the keys of its lines and their places (see manifests.line_tables). A
place is the number of a state, or beyond those the number of ranges of one trajectory, such as "0-29".
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right

from .haystack import plain, read_text
from .line_keys import line_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .haystack import Workspace
    from .index import Index

_MASK = 0xFFFF_FFFF


def states_showing(lines: list[str], index: Index, workspace: Workspace) -> dict[str, list[int]]:
    """The states that show any of these lines, ids aside: sorted numbers by slug, sorted by slug.

    Raises:
        NoIndexError: the index is damaged.
    """
    shown: dict[str, set[int]] = {}
    for line in lines:
        for place, (trajectory, states) in enumerate(_listed(_places(line, index), index)):
            slug = index.layout.slugs[trajectory]
            # Two lines may have one key, though hardly ever.
            if place == 0 and not _shows(workspace.state_path(slug, states[0]), line):
                break
            shown.setdefault(slug, set()).update(states)
    return {slug: sorted(shown[slug]) for slug in sorted(shown)}


def _places(line: str, index: Index) -> array[int]:
    (key,) = line_keys([line])
    bits = index.ask("SELECT bucket_bits FROM format")[0][0]
    if not isinstance(bits, int) or not 0 <= bits <= 32:
        raise index.damaged("its lines are in no buckets")
    entries = array("I")
    for (raw,) in index.ask("SELECT entries FROM lines WHERE bucket = ?", (key >> (64 - bits),)):
        if not isinstance(raw, bytes) or len(raw) % 8 or entries.itemsize != 4:
            raise index.damaged("a bucket of lines is not whole")
        entries.frombytes(raw)
    if sys.byteorder == "big":
        entries.byteswap()
    half, low = len(entries) // 2, key >> (32 - bits) & _MASK
    start = bisect_left(entries, low, 0, half)
    end = bisect_right(entries, low, start, half)
    return entries[half + start : half + end]


def _listed(places: array[int], index: Index) -> list[tuple[int, list[int]]]:
    """The trajectory and the states of each place."""
    layout, found = index.layout, []
    rows = index.ask("SELECT first FROM ranges ORDER BY trajectory") if places else []
    firsts = [row[0] for row in rows]
    if not all(isinstance(first, int) for first in firsts) or (places and len(firsts) != len(layout.slugs)):
        raise index.damaged("its ranges are not numbered")
    for place in places:
        if place < layout.count:
            trajectory = layout.owner[place]
            found.append((trajectory, [place - layout.firsts[trajectory]]))
            continue
        trajectory = bisect_right(firsts, place) - 1
        listed = index.ask("SELECT listed FROM ranges WHERE trajectory = ?", (trajectory,))
        found.append((trajectory, _numbers(listed, place - firsts[trajectory], layout.sizes[trajectory])))
        if not found[-1][1]:
            raise index.damaged("it tells of states that it does not have")
    return found


def _numbers(listed: list[Any], place: int, states: int) -> list[int]:
    """The states of the ranges at this place; none where they are damaged."""
    lines = listed[0][0].split("\n", place + 1) if listed and isinstance(listed[0][0], str) else []
    numbers: list[int] = []
    for part in lines[place].split(",") if place < len(lines) else ():
        first, dash, last = part.partition("-")
        start, end = _number(first), _number(last if dash else first)
        if not 0 <= start <= end < states:
            return []
        numbers.extend(range(start, end + 1))
    return numbers


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _shows(path: str, line: str) -> bool:
    try:
        return line in map(plain, read_text(path).split("\n"))
    except OSError:
        return False
