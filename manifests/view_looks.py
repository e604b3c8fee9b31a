"""What the files of a view tell of themselves, by times, inodes and sizes."""

import os
from collections.abc import Iterable
from pathlib import Path

from .entry import Entry
from .files import EPOCH_NS


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
    """The first path in a view whose time is not that of all of its files; "" where there is none."""
    for folder, _, names in os.walk(view):
        for path in (folder, *(f"{folder}/{one}" for one in names)):
            if os.lstat(path).st_mtime_ns != EPOCH_NS:
                return os.path.relpath(path, view)
    return ""


def file_bytes(folder: Path) -> int:
    """The bytes of the files in a folder; 0 where it was removed just now."""
    try:
        with os.scandir(folder) as found:
            return sum(one.stat(follow_symlinks=False).st_size for one in found if one.is_file())
    except FileNotFoundError:
        return 0
