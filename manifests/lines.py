"""Where the lines of a JSONL file begin, found without ever holding one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .errors import DataError

MAX_LINE = 64 * 2**20  # bytes
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its number from 1 and its place in the file, in bytes."""

    number: int
    offset: int
    length: int


def find_lines(path: Path, file: BinaryIO) -> Iterator[Line]:
    """The lines of `file` in order.

    Raises DataError at a line over MAX_LINE, before the rest of it is read.
    """
    number = start = position = 0
    blank = True
    while block := file.read(_BLOCK):
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            number += 1
            stop = position + end
            _check(path, number, stop - start)
            if not (blank and not block[begin:end].strip()):
                yield Line(number, start, stop - start)
            start, begin, blank = stop + 1, end + 1, True
        rest = block[begin:]
        blank = blank and not rest.strip()
        position += len(block)
        _check(path, number + 1, position - start)
    if not blank:
        yield Line(number + 1, start, position - start)


def _check(path: Path, number: int, length: int) -> None:
    if length > MAX_LINE:
        raise DataError(
            f"{path}:{number}: the line is longer than {MAX_LINE >> 20} MiB; "
            "split the trajectory or drop its line"
        )
