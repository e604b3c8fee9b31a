"""What the files of a view tell of themselves, by times, inodes and sizes."""

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .entry import Entry
from .files import EPOCH_NS, try_lock


def is_sealed(view: Path, entries: Iterable[Entry]) -> bool:
    """Whether no file of a trajectory was taken away or put there since: that changes its folder's time."""
    folders = [f"{view}/trajectories", *(f"{view}/trajectories/{entry.slug}" for entry in entries)]
    return all(os.stat(folder).st_mtime_ns == EPOCH_NS for folder in folders)  # noqa: PTH116


def is_replaced(view: Path, entry: Entry) -> bool:
    """Whether the trajectory was damaged and written anew since the view was made."""
    # Not pathlib: a view that is there is found in a few milliseconds, five hundred times two stats included.
    shown = os.stat(f"{view}/trajectories/{entry.slug}/about.txt")  # noqa: PTH116
    present = os.stat(f"{entry.path}/about.txt")  # noqa: PTH116
    return shown.st_dev == present.st_dev and shown.st_ino != present.st_ino


def written_to(view: Path) -> str:
    """The first path in a view whose time is not that of all of its files; "" where there is none.

    What is taken away as a whole meanwhile is no damage: the view, or an index that is made anew.
    """
    with suppress(FileNotFoundError):  # it is gone already
        for folder, _, names, fd in os.fwalk(view):
            changed = _changed(folder, names, fd)
            if changed and _is_there(folder, fd):
                return os.path.relpath(changed, view)
    return ""


def _changed(folder: str, names: Iterable[str], fd: int) -> str:
    """The folder or the first file in it whose time is another; "" where there is none."""
    if not _has_its_time(fd):
        return folder
    for name in names:
        try:
            changed = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mtime_ns != EPOCH_NS
        except FileNotFoundError:
            changed = True
        if changed:
            return f"{folder}/{name}"
    return ""


def _has_its_time(fd: int) -> bool:
    """Whether an open folder's time is that of all; where somebody makes an index, it will be."""
    if not try_lock(fd, exclusive=False):
        return True
    found = os.fstat(fd).st_mtime_ns
    fcntl.flock(fd, fcntl.LOCK_UN)
    return found == EPOCH_NS


def _is_there(folder: str, fd: int) -> bool:
    """Whether an open folder still is where it was."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(folder))  # noqa: PTH116
    except FileNotFoundError:
        return False


def file_bytes(folder: str | Path) -> int:
    """The bytes of the files in a folder, without those that somebody removed just now."""
    total = 0
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for one in found:
            with suppress(FileNotFoundError):
                total += one.stat(follow_symlinks=False).st_size if one.is_file() else 0
    return total
