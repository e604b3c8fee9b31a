"""When an agent's output arrived: lines `[bytes so far, seconds]` beside the output itself.

A CLI's own timestamps are missing, late or wrong, so chunks are stamped as they are read.
"""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import orjson

from runbook.files import open_regular

COALESCE_SECONDS = 0.005
"""Chunks that come closer together than this share a line, with the later time."""


class ArrivalLog:
    """Writes the stamps of one stream; one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where `path` cannot be written."""
        self._file = path.open("wb")
        self._written: float | None = None
        self._pending: tuple[int, float] | None = None

    def note(self, bytes_so_far: int, at: float) -> None:
        """Say that the first `bytes_so_far` bytes had arrived at `at`, seconds from the attempt's start."""
        if self._pending and self._written is not None and at - self._written >= COALESCE_SECONDS:
            self._write(self._pending)
        self._pending = (bytes_so_far, at)
        if self._written is None or at - self._written >= COALESCE_SECONDS:
            self._write(self._pending)
            self._pending = None

    def close(self) -> None:
        """Write what is left. Idempotent."""
        if self._file.closed:
            return
        if self._pending:
            self._write(self._pending)
            self._pending = None
        self._file.close()

    def _write(self, stamp: tuple[int, float]) -> None:
        self._file.write(b"[%d,%.3f]\n" % stamp)
        self._written = stamp[1]

    def __enter__(self) -> "ArrivalLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Arrivals:
    """Reads stamps in step with the stream: offsets have to be asked for in ascending order."""

    def __init__(self, path: Path) -> None:
        """A missing or damaged file has no stamps to give, which is no error."""
        self._file: BinaryIO | None = None
        with suppress(OSError):
            self._file = open_regular(path)
        self._stamp: tuple[int, float] | None = self._next()

    def at(self, offset: int) -> float | None:
        """When the byte before `offset` had arrived; after the last stamp, the last; None without any."""
        while self._stamp and self._stamp[0] < offset and (later := self._next()):
            self._stamp = later
        return self._stamp[1] if self._stamp else None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _next(self) -> tuple[int, float] | None:
        for line in self._file or ():
            try:
                offset, at = orjson.loads(line)
                return int(offset), float(at)
            except (ValueError, TypeError):
                continue
        return None
