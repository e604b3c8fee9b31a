"""Where the lines of a JSONL file begin, found without ever holding one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from .errors import DataError

MAX_LINE = 64 * 2**20  # bytes
_BLOCK = 2**20
_CHARACTER = re.compile(rb"\S")


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its number from 1 and its place in the file, in bytes."""

    number: int
    offset: int
    length: int


def find_lines(path: Path, file: BufferedReader) -> Iterator[Line]:
    """The lines of `file` in order.

    Raises DataError at a line over MAX_LINE, before the rest of it is read.
    """
    number = start = position = 0
    blank = True
    block = bytearray(_BLOCK)
    while size := file.readinto(block):
        begin = 0
        while (end := block.find(b"\n", begin, size)) >= 0:
            number += 1
            stop = position + end
            _check(path, number, stop - start)
            if not blank or _CHARACTER.search(block, begin, end):
                yield Line(number, start, stop - start)
            start, begin, blank = stop + 1, end + 1, True
        blank = blank and not _CHARACTER.search(block, begin, size)
        position += size
        _check(path, number + 1, position - start)
    if not blank:
        yield Line(number + 1, start, position - start)


def _check(path: Path, number: int, length: int) -> None:
    if length > MAX_LINE:
        raise DataError(
            f"{path}:{number}: the line is longer than {MAX_LINE >> 20} MiB; "
            "split the trajectory or drop its line"
        )
