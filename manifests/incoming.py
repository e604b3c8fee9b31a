"""A place of one's own to build in, on the store's disk, that others know to be in use or abandoned."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from .files import FILE_MODE, FOLDER_MODE, remove_tree, try_lock

_LOCK = ".lock"
_EVERYBODY = "everybody.lock"  # held shared by all who build, alone by who removes what only seems unused


class Incoming:
    """A folder `<incoming>/<token>/`, ours while `<token>.lock` is held; removed on exit.

    The lock is taken before the folder is made. So a folder whose lock is free, or not there, is one that a
    killed process left, and anybody may remove it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def __enter__(self) -> "Incoming":
        self._folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        self._shared = _open(self._folder / _EVERYBODY)
        fcntl.flock(self._shared, fcntl.LOCK_SH)
        self._own, self._lock = self._locked()
        self._own.mkdir(mode=FOLDER_MODE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_tree(self._own)
        _lock_path(self._own).unlink(missing_ok=True)
        os.close(self._lock)
        os.close(self._shared)

    def new_path(self) -> Path:
        """A path that nothing uses yet."""
        self._count += 1
        return self._own / str(self._count)

    def _locked(self) -> tuple[Path, int]:
        while True:
            own = self._folder / f"{os.getpid()}-{os.urandom(6).hex()}"
            lock = _open(_lock_path(own))
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _lock_path(own).exists():  # else somebody took it for abandoned before we had it
                return own, lock
            os.close(lock)


@contextmanager
def nobody_builds(folder: Path) -> Iterator[bool]:
    """Whether nobody builds in `<incoming>` now; if so, none will until the block ends."""
    if not folder.is_dir():
        yield True
        return
    fd = _open(folder / _EVERYBODY)
    try:
        yield try_lock(fd, exclusive=True)
    finally:
        os.close(fd)


def abandoned(folder: Path) -> list[Path]:
    """The folders that killed processes left in `<incoming>`."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and _is_free(path)]


def sweep(folder: Path) -> list[Path]:
    """Remove what killed processes left in `<incoming>`; the folders removed."""
    left = abandoned(folder)
    for path in left:
        remove_tree(path)
    for lock in folder.glob(f"*{_LOCK}"):
        if lock.name != _EVERYBODY:
            _remove_free_lock(lock)
    return left


def _is_free(path: Path) -> bool:
    try:
        fd = os.open(_lock_path(path), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return try_lock(fd, exclusive=True)
    finally:
        os.close(fd)


def _remove_free_lock(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if try_lock(fd, exclusive=True):
            path.unlink(missing_ok=True)
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)


def _lock_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_LOCK}")
