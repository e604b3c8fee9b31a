"""A place of one's own to build in, on the store's disk, that others know to be in use or abandoned."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from .files import FOLDER_MODE, remove_tree, try_lock

_LOCK = "lock"
_EVERYBODY = ".lock"  # held shared by all who build, alone by who removes what only seems unused


class Incoming:
    """A folder `<incoming>/<token>/`, ours while its lock file is held; removed on exit.

    A process that is killed leaves its folder; its lock is then free, so anybody may remove it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __enter__(self) -> "Incoming":
        self._folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        self._shared = os.open(self._folder / _EVERYBODY, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._shared, fcntl.LOCK_SH)
        self._own = self._folder / f"{os.getpid()}-{os.urandom(6).hex()}"
        self._own.mkdir(mode=FOLDER_MODE)
        self._lock = os.open(self._own / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_tree(self._own)
        os.close(self._lock)
        os.close(self._shared)

    def new_path(self) -> Path:
        """A path that nothing uses yet."""
        self._count += 1
        return self._own / str(self._count)


@contextmanager
def nobody_builds(folder: Path) -> Iterator[bool]:
    """Whether nobody builds in `<incoming>` now; if so, none will until the block ends."""
    if not folder.is_dir():
        yield True
        return
    fd = os.open(folder / _EVERYBODY, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield try_lock(fd, exclusive=True)
    finally:
        os.close(fd)


def abandoned(folder: Path) -> list[Path]:
    """The folders that killed processes left in `<incoming>`."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and not _in_use(path)]


def _in_use(path: Path) -> bool:
    try:
        fd = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # Being made just now, or cut off while being made or removed.
        return _young(path)
    except OSError:
        return True
    try:
        return not try_lock(fd, exclusive=True)
    finally:
        os.close(fd)


def _young(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < 60
    except OSError:
        return True
