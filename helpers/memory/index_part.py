"""A part of the index: the file of one trajectory, as manifests.index_format tells it.

It is read only as far as it is needed. Its checksum is the host's business; here every number is checked that
leads to another one.
"""

from __future__ import annotations

import os
import struct
import sys
from bisect import bisect_left

from . import tokens
from .failure import NoIndexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Literal

    SplitKey = tuple[int, int]

FORMAT = 3
_PART = f"\0runbook-part {FORMAT} {tokens.VERSION} ".encode()


class Listed:
    """A trajectory of the layout, and what its part holds; `ranges` in bytes."""

    __slots__ = ("convention", "lines", "postings", "ranges", "slug", "states", "terms")

    def __init__(
        self, slug: str, convention: str, states: int, terms: int, postings: int, lines: int, ranges: int
    ) -> None:
        self.slug = slug
        self.convention = convention
        self.states = states
        self.terms = terms
        self.postings = postings
        self.lines = lines
        self.ranges = ranges

    def head(self) -> bytes:
        """What the part begins with."""
        counts = struct.pack("<5I", self.states, self.terms, self.postings, self.lines, self.ranges)
        return _PART + self.slug.encode() + b"\n" + counts

    def starts_at(self, head: int) -> int:
        """Where in the part, whose head takes so many bytes, the starts of the terms' entries stand."""
        return head + 4 * self.terms

    def entries_at(self, head: int) -> int:
        """Where the entries stand."""
        return self.starts_at(head) + width(self.postings + self.terms) * (self.terms + 1)

    def lines_at(self, head: int) -> int:
        """Where the keys of lines stand."""
        return self.entries_at(head) + width(self.states * 8) * (self.postings + self.terms)


class Part:
    """A part that is open for reading."""

    __slots__ = ("_file", "_listed", "path")

    def __init__(self, file: int, listed: Listed, path: str) -> None:
        self._file = file
        self._listed = listed
        self.path = path

    def postings(self, keys: Sequence[SplitKey]) -> Iterator[tuple[int, list[int]]]:
        """Where the terms with these keys stand, each that stands there at all.

        Told are the key's place in `keys`, and the postings: `state * 8 + field`, ascending.
        """
        listed = self._listed
        head = listed.head()
        start = len(head)
        starts = listed.starts_at(start)
        raw = self.read(listed.entries_at(start), 0)
        if not raw.startswith(head):
            raise damaged(self.path, "it is not what the layout tells of")
        places = _places(numbers(memoryview(raw)[start:starts], 4), keys)
        if places:
            entries = _Entries(self, listed, memoryview(raw)[starts:])
            for which, place, last in places:
                entry = entries.at(place)
                if entry[0] == last:
                    yield which, entry[1:]

    def lines(self, keys: Sequence[SplitKey]) -> Iterator[tuple[int, list[int]]]:
        """The states that show the lines with these keys, each line that any shows.

        Told are the key's place in `keys`, and the states, ascending.
        """
        listed = self._listed
        start = listed.lines_at(len(listed.head()))
        for which, place, last in _places(self.numbers(4, start, listed.lines), keys):
            if self.numbers(2, _lasts_at(listed, start) + 2 * place, 1)[0] == last:
                yield which, _showing(self, listed, start, place)

    def read(self, size: int, start: int) -> bytes:
        """So many bytes.

        Raises:
            NoIndexError: there are fewer.
        """
        try:
            raw = os.pread(self._file, size, start)
        except OSError as error:
            raise damaged(self.path, error.strerror or "it cannot be read") from None
        if len(raw) != size:
            raise damaged(self.path, "it is cut off")
        return raw

    def numbers(self, width: int, start: int, count: int) -> memoryview:
        """So many numbers."""
        return numbers(memoryview(self.read(width * count, start)), width)


def split(keys: Iterable[int]) -> list[SplitKey]:
    """The first 32 bits of each key, and the last 16."""
    return [(key >> 16, key & 0xFFFF) for key in keys]


def _places(firsts: memoryview, keys: Sequence[SplitKey]) -> list[tuple[int, int, int]]:
    """Where the keys may stand: which it is, the place, and the last bits that it must have there."""
    found, count = [], len(firsts)
    for which, (first, last) in enumerate(keys):
        place = bisect_left(firsts, first)
        while place < count and firsts[place] == first:
            found.append((which, place, last))
            place += 1
    return found


class _Entries:
    """The entries of a part's terms."""

    __slots__ = ("_entries", "_limit", "_path", "_starts")

    def __init__(self, file: Part, listed: Listed, starts: memoryview) -> None:
        count = listed.terms + listed.postings
        self._starts = numbers(starts, width(count))
        self._entries = file.numbers(width(listed.states * 8), listed.entries_at(len(listed.head())), count)
        self._limit = listed.states * 8
        self._path = file.path

    def at(self, place: int) -> list[int]:
        """The last bits of the term's key, then its postings."""
        entry: list[int] = self._entries[self._starts[place] : self._starts[place + 1]].tolist()
        if len(entry) < 2 or max(entry[1:]) >= self._limit:
            raise damaged(self._path, "it tells of states that it does not have")
        return entry


def _lasts_at(listed: Listed, start: int) -> int:
    """Where the last bits of the lines' keys stand, given where the first ones do."""
    return start + (4 + width(listed.states + listed.ranges)) * listed.lines


def _showing(file: Part, listed: Listed, start: int, place: int) -> list[int]:
    """The states that show the line at this place."""
    size = width(listed.states + listed.ranges)
    (number,) = file.numbers(size, start + 4 * listed.lines + size * place, 1)
    if number < listed.states:
        return [number]
    ranges = file.read(listed.ranges, _lasts_at(listed, start) + 2 * listed.lines)
    states = _spelled_out(ranges.split(b"\n"), number - listed.states, listed.states)
    if not states:
        raise damaged(file.path, "it tells of states that it does not have")
    return states


def width(most: int) -> int:
    """Bytes of each of many numbers none of which can be over `most`."""
    return 2 if most < 1 << 16 else 4


def numbers(raw: memoryview, width: int) -> memoryview:
    """Little-endian numbers of so many bytes, without a copy where the machine's own are."""
    code: Literal["H", "I", "Q"] = "H" if width == 2 else "I" if width == 4 else "Q"
    if sys.byteorder == "little":
        return raw.cast(code)
    from array import array

    swapped = array(code, bytes(raw))
    swapped.byteswap()
    return memoryview(swapped)


def damaged(path: str, why: str) -> NoIndexError:
    """What to raise where a file tells nonsense."""
    return NoIndexError(f"{path} is damaged ({why})")


def _spelled_out(ranges: list[bytes], place: int, states: int) -> list[int]:
    """The states of the ranges at this place, such as "3,5-7"; none where they are damaged."""
    found: list[int] = []
    for part in ranges[place].split(b",") if 0 <= place < len(ranges) else ():
        first, dash, last = part.partition(b"-")
        start, end = _number(first), _number(last if dash else first)
        if not 0 <= start <= end < states:
            return []
        found.extend(range(start, end + 1))
    return found


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else -1
