"""The files of the index, as manifests.index_format tells them: a layout, and a part for each trajectory.

A part is read only as far as it is needed: its terms for ranking, the keys of its lines for one line. The
checksums of parts are the host's business; here every number is checked that leads to another one.
"""

from __future__ import annotations

import os
import struct
import sys
from bisect import bisect_left

from . import tokens
from .failure import NoIndexError
from .haystack import is_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Literal

    SplitKey = tuple[int, int]

FORMAT = 3
FIELDS = ("goal", "url", "title", "action", "thought", "observation")
FOLDER = ".index"
LAYOUT = "layout"
_CHECKSUM = 4
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


class _File:
    """A part that is open for reading."""

    __slots__ = ("_file", "path")

    def __init__(self, file: int, path: str) -> None:
        self._file = file
        self.path = path

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


class IndexFiles:
    """The index in a folder; `levels` by field, `common` terms with how many postings they have.

    Raises:
        NoIndexError: it is not there, damaged, or of another version.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        path = os.path.join(folder, LAYOUT)
        try:
            with open(path, "rb") as file:
                raw = file.read()
        except OSError:
            raise NoIndexError("the haystack has no index") from None
        _check_version(raw, path)
        try:
            self._read(raw)
        except (ValueError, TypeError, struct.error):
            raise damaged(path, "its tables do not fit together") from None

    def postings(
        self, trajectories: Iterable[int], keys: Sequence[SplitKey]
    ) -> Iterator[tuple[int, int, list[int]]]:
        """Where the terms with these keys stand in these trajectories, each term that stands there at all.

        Told are the trajectory, the key's place in `keys`, and the postings: `state * 8 + field`, ascending.
        """
        for trajectory, listed, file in self._parts(trajectories):
            head = listed.head()
            start = len(head)
            starts = listed.starts_at(start)
            raw = file.read(listed.entries_at(start), 0)
            if not raw.startswith(head):
                raise damaged(file.path, "it is not what the layout tells of")
            places = _places(numbers(memoryview(raw)[start:starts], 4), keys)
            if places:
                entries = _Entries(file, listed, memoryview(raw)[starts:])
                for which, place, last in places:
                    entry = entries.at(place)
                    if entry[0] == last:
                        yield trajectory, which, entry[1:]

    def lines(
        self, trajectories: Iterable[int], keys: Sequence[SplitKey]
    ) -> Iterator[tuple[int, int, list[int]]]:
        """The states of these trajectories that show the lines with these keys, each line that any shows.

        Told are the trajectory, the key's place in `keys`, and the states, ascending.
        """
        for trajectory, listed, file in self._parts(trajectories):
            start = listed.lines_at(len(listed.head()))
            for which, place, last in _places(file.numbers(4, start, listed.lines), keys):
                if file.numbers(2, _lasts_at(listed, start) + 2 * place, 1)[0] == last:
                    yield trajectory, which, _showing(file, listed, start, place)

    def _parts(self, trajectories: Iterable[int]) -> Iterator[tuple[int, Listed, _File]]:
        """The parts of these trajectories, each open until the next one is asked for."""
        # Hundreds of paths would take longer to follow than their files to read.
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            for trajectory in trajectories:
                listed = self.trajectories[trajectory]
                path = f"{self._folder}/{listed.slug}"
                try:
                    file = os.open(listed.slug, os.O_RDONLY, dir_fd=folder)
                except OSError as error:
                    raise damaged(path, error.strerror or "it cannot be read") from None
                try:
                    yield trajectory, listed, _File(file, path)
                finally:
                    os.close(file)
        finally:
            os.close(folder)

    def _read(self, raw: bytes) -> None:
        """Raises ValueError where numbers that others compute with do not fit together."""
        _, sizes, rest = raw.split(b"\n", 2)
        count, states, common = map(int, sizes.split())
        *rows, tables = rest.split(b"\n", count)
        view = memoryview(tables)[:-_CHECKSUM]
        if not count or len(rows) != count or len(view) != 20 * count + len(FIELDS) * states + 12 * common:
            raise ValueError("it is cut off")
        counts = numbers(view[: 20 * count], 4).tolist()
        self.trajectories = [
            _listed(row.decode(), counts[place : place + 5])
            for row, place in zip(rows, range(0, 5 * count, 5))
        ]
        if states != sum(one.states for one in self.trajectories):
            raise ValueError("states are missing")
        view = view[20 * count :]
        self.levels = [bytes(view[states * field : states * (field + 1)]) for field in range(len(FIELDS))]
        keys = len(FIELDS) * states
        common_keys = numbers(view[keys : keys + 8 * common], 8)
        self.common: dict[int, int] = dict(zip(common_keys, numbers(view[keys + 8 * common :], 4)))


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

    def __init__(self, file: _File, listed: Listed, starts: memoryview) -> None:
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


def _showing(file: _File, listed: Listed, start: int, place: int) -> list[int]:
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


def _check_version(raw: bytes, path: str) -> None:
    from zlib import crc32

    head = raw[: raw.find(b"\n")].decode("ascii", "replace")
    if not head.startswith("runbook-index "):
        raise damaged(path, "it tells no version")
    wanted = f"{FORMAT} {tokens.VERSION}"
    if head.partition(" ")[2] != wanted:
        raise NoIndexError(f"{path} is of version {head.partition(' ')[2][:40]}, wanted is {wanted}")
    if crc32(raw[:-_CHECKSUM]) != int.from_bytes(raw[-_CHECKSUM:], "little"):
        raise damaged(path, "its checksum does not fit")


def _listed(row: str, counts: list[int]) -> Listed:
    slug, _, convention = row.partition("\t")
    if not slug or not is_slug(slug) or not counts[0]:
        raise ValueError("it names no trajectory")
    return Listed(slug, convention, *counts)


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
