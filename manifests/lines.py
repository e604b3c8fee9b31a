"""The lines of a JSONL file, piece by piece, so that several processes can look for them at once."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .errors import DataError

MAX_LINE: Final = 64 * 2**20  # bytes
PIECE: Final = 4 * 2**20  # bytes
BOM: Final = b"\xef\xbb\xbf"
_BLOCK = 2**18  # of the rest of a line that goes on after its piece


class Line(NamedTuple):
    """A line that is not blank: its number and its place in the file, in bytes.

    Lines of a file are numbered from 1, those of a piece by the line feeds before them in the piece.
    """

    number: int
    offset: int
    length: int


class Piece:
    """The lines that begin in [start, end) of the open file `fd`.

    `feeds` is, after the lines were iterated over, how many line feeds the piece has.
    """

    def __init__(self, fd: int, start: int, end: int) -> None:
        self.feeds = 0
        self._fd = fd
        self._start = start
        self._end = end

    def __iter__(self) -> Iterator[tuple[Line, bytes]]:
        """The lines that are not blank, with their content, which is cut off right after MAX_LINE."""
        base = max(self._start - 1, 0)  # a line begins after a line feed, which may end the piece before
        block = read_at(self._fd, base, self._end - base)
        at = block.find(b"\n") + 1 if self._start else 0
        if self._start and not at:
            return
        self.feeds = int(at > 1)
        while base + at < self._end:
            stop = block.find(b"\n", at)
            content = block[at:stop] if stop >= 0 else b"".join(self._rest(block[at:]))
            text = content.removeprefix(BOM) if base + at == 0 else content
            if text and not text.isspace():
                yield Line(self.feeds, base + at, len(content)), content
            if stop < 0:
                return
            self.feeds += 1
            at = stop + 1

    def _rest(self, beginning: bytes) -> Iterator[bytes]:
        """A line that goes on after the piece, until it ends or is too long."""
        yield beginning
        length = len(beginning)
        while length <= MAX_LINE:
            block = read_at(self._fd, self._end + length - len(beginning), _BLOCK)
            line, feed, _ = block.partition(b"\n")
            yield line
            length += len(line)
            if feed or not block:
                return


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """The places [start, end) of the pieces of a file of `size` bytes."""
    for start in range(0, size, PIECE):
        yield start, min(start + PIECE, size)


def check_length(path: Path, line: Line) -> None:
    """Raise DataError for a line over MAX_LINE."""
    if line.length > MAX_LINE:
        raise DataError(
            f"{path}:{line.number}: the line is longer than {MAX_LINE >> 20} MiB; "
            "split the trajectory or drop its line"
        )


def read_at(fd: int, offset: int, length: int) -> bytes:
    """`length` bytes of a file from `offset` on, fewer where it ends before."""
    parts = []
    while length and (part := os.pread(fd, length, offset)):
        parts.append(part)
        length -= len(part)
        offset += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
