"""What is done to one line of trajectories.jsonl, in this process or in another one.

Tasks and results are named tuples: they are sent by the hundred, and a dataclass takes long to pickle.
"""

import os
from pathlib import Path
from typing import NamedTuple

from .convention import own_convention
from .errors import DataError
from .lines import Line, Piece, read_at
from .model import Convention
from .peek import Peek, peek
from .records import read_record
from .writer import Added, Writer


class Surveyed(NamedTuple):
    """A line's trajectory, before anything of it is imported."""

    line: Line
    id: str
    convention: Convention


class Scanned(NamedTuple):
    """The lines that begin in a piece of the file, in order, and what a glance tells of each.

    Their numbers are those in the piece, which has `feeds` line feeds.
    """

    start: int
    feeds: int
    lines: list[tuple[Line, Peek | None]]


class Scan(NamedTuple):
    """Glance at the lines that begin in the bytes [start, end)."""

    start: int
    end: int

    @property
    def offset(self) -> int:
        return self.start


class Survey(NamedTuple):
    """Look who is on the line."""

    line: Line

    @property
    def offset(self) -> int:
        return self.line.offset


class Import(NamedTuple):
    """Put the line's trajectory into the store; `shared` is its convention unless it tells by itself."""

    line: Line
    shared: Convention

    @property
    def offset(self) -> int:
        return self.line.offset


Task = Scan | Survey | Import
Result = Scanned | Surveyed | Added


class LineWorker:
    """Does tasks on the lines of one file."""

    def __init__(self, path: Path, writer: Writer) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._writer = writer

    def close(self) -> None:
        os.close(self._fd)

    def do(self, task: Task) -> Result:
        """Do one task. Raises DataError for bad data, StoreError or OSError where writing fails."""
        if isinstance(task, Scan):
            piece = Piece(self._fd, task.start, task.end)
            lines = [(line, peek(content)) for line, content in piece]
            return Scanned(task.start, piece.feeds, lines)
        where = f"{self._path}:{task.line.number}"
        trajectory, replaced = read_record(self._read(task.line, where), where)
        own = own_convention(trajectory)
        if isinstance(task, Survey):
            return Surveyed(task.line, trajectory.id, own)
        added = self._writer.add(trajectory, task.shared if own is Convention.UNKNOWN else own, where)
        if replaced:
            added.warnings.append(f"{where}: {replaced} invalid or control characters were replaced")
        return added

    def _read(self, line: Line, where: str) -> bytes:
        content = read_at(self._fd, line.offset, line.length)
        if len(content) < line.length:
            raise DataError(f"{where}: the file became shorter while it was read; import it again")
        return content
