"""What is done to one line of trajectories.jsonl, in this process or in another one."""

import os
from dataclasses import dataclass
from pathlib import Path

from .convention import own_convention
from .errors import DataError
from .lines import Line
from .model import Convention
from .peek import peek
from .records import read_record
from .writer import Added, Writer


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A line's trajectory, before anything of it is imported."""

    line: Line
    id: str
    convention: Convention


@dataclass(frozen=True, slots=True)
class Survey:
    """Look who is on the line."""

    line: Line


@dataclass(frozen=True, slots=True)
class Import:
    """Put the line's trajectory into the store; `shared` is its convention unless it tells by itself."""

    line: Line
    shared: Convention


Task = Survey | Import
Result = Surveyed | Added


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
        where = f"{self._path}:{task.line.number}"
        line = self._read(task.line, where)
        if isinstance(task, Survey) and (seen := peek(line)):
            return Surveyed(task.line, seen.id, seen.convention)
        trajectory, replaced = read_record(line, where)
        own = own_convention(trajectory)
        if isinstance(task, Survey):
            return Surveyed(task.line, trajectory.id, own)
        added = self._writer.add(trajectory, task.shared if own is Convention.UNKNOWN else own, where)
        if replaced:
            added.warnings.append(f"{where}: {replaced} invalid or control characters were replaced")
        return added

    def _read(self, line: Line, where: str) -> bytes:
        parts = []
        left, offset = line.length, line.offset
        while left:
            part = os.pread(self._fd, left, offset)
            if not part:
                raise DataError(f"{where}: the file became shorter while it was read; import it again")
            parts.append(part)
            left -= len(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
