"""Vectors on disk by the digest of what was embedded: append-only, memory-mapped, shared by processes.

    keys           32 bytes a row: the SHA-256 of the text
    vectors.f32    one row of little-endian float32 per key, of length 1
    dimensions     their number, as text

A row counts once its key is there; what a killed process left behind the last whole row is written over.
"""

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runbook.complaints import naming

KEY_BYTES = 32
_FLOAT_BYTES = 4

Vectors = NDArray[np.float32]


class CacheError(OSError):
    """The cached vectors do not fit what is to be added; the message names the folder and the mend."""


class VectorCache:
    """The vectors of one embedding model. Safe to use from several threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made where it is missing. Raises OSError where that cannot be."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._keys = folder / "keys"
        self._vectors = folder / "vectors.f32"
        self._lock = threading.Lock()
        self._places: dict[bytes, int] = {}
        self._mapped: Vectors | None = None

    def places(self, keys: Sequence[bytes]) -> list[int | None]:
        """The row of each key; None where its vector is not there."""
        with self._lock:
            if not all(key in self._places for key in keys):
                self._refresh()
            return [self._places.get(key) for key in keys]

    def matrix(self) -> Vectors:
        """All rows (rows x dimensions), mapped from disk and read-only; later rows are not in it."""
        with self._lock:
            count = len(self._places)
            if self._mapped is None or len(self._mapped) < count:
                self._mapped = self._map(count)
            return self._mapped

    @property
    def dimensions(self) -> int | None:
        """Numbers of a vector; None while there is none."""
        return self._dimensions()

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Append the vectors of those keys that are not there yet.

        Raises:
            CacheError: they have another number of dimensions than those before.
            OSError: nothing, or not all, could be written; what is there stays good.
        """
        with self._lock, self._alone():
            self._refresh()
            fresh = {key: row for key, row in zip(keys, vectors, strict=True) if key not in self._places}
            if not fresh:
                return
            width = vectors.shape[1]
            self._check(width)
            first = len(self._places)
            _write_at(self._vectors, first * width * _FLOAT_BYTES, np.stack(list(fresh.values())).tobytes())
            _write_at(self._keys, first * KEY_BYTES, b"".join(fresh))
            self._refresh()

    def _check(self, width: int) -> None:
        known = self._dimensions()
        if known is None:
            (self._folder / "dimensions").write_text(str(width), encoding="ascii")
        elif known != width:
            raise CacheError(
                f"{self._folder}: the model gives vectors of {width} numbers, those there have {known}: "
                "remove the folder, or ask the model that made them"
            )

    def _dimensions(self) -> int | None:
        try:
            return int((self._folder / "dimensions").read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            return None

    def _refresh(self) -> None:
        """Learn of rows that were added since, by whomever."""
        width = self._dimensions()
        if width is None:
            return
        try:
            whole = self._vectors.stat().st_size // (width * _FLOAT_BYTES)
            with self._keys.open("rb") as file:
                file.seek(len(self._places) * KEY_BYTES)
                data = file.read()
        except FileNotFoundError:
            return
        first = len(self._places)
        for place in range(first, min(whole, first + len(data) // KEY_BYTES)):
            start = (place - first) * KEY_BYTES
            self._places[data[start : start + KEY_BYTES]] = place

    def _map(self, count: int) -> Vectors:
        width = self._dimensions()
        if not count or width is None:
            return np.zeros((0, width or 0), dtype=np.float32)
        return np.memmap(self._vectors, dtype="<f4", mode="r", shape=(count, width))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Only one process appends at a time; the kernel takes the right back from one that dies."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _write_at(path: Path, offset: int, data: bytes) -> None:
    """Write at a place, cut off what stood behind it, and wait for the disk."""
    with naming(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(descriptor, offset)
            written = 0
            while written < len(data):
                written += os.pwrite(descriptor, data[written:], offset + written)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
