"""Lines of any length, in memory that does not grow with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_BYTES = 64 * 1024 * 1024
"""A longer line is given as its beginning only: the parsers of whole lines need them in memory."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end. `end` is the offset of the first byte after it, line feed included."""

    data: bytes
    end: int
    whole: bool


def read_lines(file: BinaryIO, limit: int = LINE_BYTES) -> Iterator[Line]:
    """The lines of `file` from where it stands, each cut at `limit` bytes."""
    end = file.tell()
    while data := file.readline(limit):
        end += len(data)
        whole = data.endswith(b"\n") or len(data) < limit
        if not whole:
            end += _skip_line(file, limit)
        yield Line(data.rstrip(b"\r\n"), end, whole)


def _skip_line(file: BinaryIO, limit: int) -> int:
    skipped = 0
    while rest := file.readline(limit):
        skipped += len(rest)
        if rest.endswith(b"\n"):
            break
    return skipped
