"""Events on their way to a trace: kept on disk, known by number, given back in the order of time."""

import math
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from runbook.traces.events import TraceEvent

_DROPPED = -1


class Spool:
    """Memory grows by 24 bytes an event, whatever the events hold."""

    def __init__(self, folder: Path) -> None:
        """The file has no name in `folder` and is gone when closed."""
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - closed by close()
        self._appending = True
        self._end = 0
        self._at = array("d")
        self._place = array("q")
        self._size = array("q")

    def add(self, event: TraceEvent) -> int:
        """Keep an event; its number."""
        self._at.append(math.nan if event.at is None else event.at)
        self._place.append(0)
        self._size.append(0)
        number = len(self._at) - 1
        self._write(number, event)
        return number

    def get(self, number: int) -> TraceEvent:
        return TraceEvent.model_validate_json(self._line(number))

    def replace(self, number: int, event: TraceEvent) -> None:
        self._at[number] = math.nan if event.at is None else event.at
        self._write(number, event)

    def drop(self, number: int) -> None:
        self._size[number] = _DROPPED

    def lines(self) -> Iterator[bytes]:
        """Every event as JSON, by time; those of the same time, and those without, as they were added."""
        for number in self._order():
            if self._size[number] != _DROPPED:
                yield self._line(number)

    def close(self) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._at)

    def _order(self) -> list[int]:
        if not self._at:
            return []
        times = np.array(self._at, dtype=np.float64)
        # An event without a time stays behind the one that was added before it.
        last_known = np.maximum.accumulate(np.where(np.isnan(times), -1, np.arange(len(times))))
        filled = np.where(last_known >= 0, times[last_known], 0.0)
        order: list[int] = np.argsort(filled, kind="stable").tolist()
        return order

    def _write(self, number: int, event: TraceEvent) -> None:
        line = event.model_dump_json(exclude_defaults=True).encode()
        if not self._appending:
            self._file.seek(0, os.SEEK_END)
            self._appending = True
        self._file.write(line)
        self._place[number], self._size[number] = self._end, len(line)
        self._end += len(line)

    def _line(self, number: int) -> bytes:
        self._appending = False
        self._file.seek(self._place[number])
        return self._file.read(self._size[number])
