"""A watch over a folder that others write: how many bytes and files lie there, and a call when too many.

What is watched is hostile: files vanish while they are counted, folders turn into links, trees nest without
end. No link is followed and no path longer than one name is resolved.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

INTERVAL_SECONDS = 0.1
# A scan is followed by a pause of at least this many times its own length.
REST_RATIO = 3.0
DEPTH_LIMIT = 100
# Deleted files are looked for each time that the disk has lost this much, and once in a while.
DELETED_STEP_BYTES = 32 * 1024 * 1024
DELETED_SECONDS = 2.0
BLOCK_BYTES = 512
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class _Count:
    """What was counted so far, and where to stop."""

    max_bytes: int
    max_files: int
    bytes: int = 0
    files: int = 0
    exceeded: str = ""
    linked: set[tuple[int, int]] = field(default_factory=set)

    def add(self, status: os.stat_result) -> None:
        if status.st_nlink != 1 and not stat.S_ISDIR(status.st_mode):
            identity = (status.st_dev, status.st_ino)
            if identity in self.linked:
                return
            self.linked.add(identity)
        self.files += 1
        self.bytes += occupied(status)
        if self.files > self.max_files:
            self.exceeded = f"more than {self.max_files} files"
        elif self.bytes > self.max_bytes:
            self.exceeded = f"more than {self.max_bytes} bytes"


def occupied(status: os.stat_result) -> int:
    """Bytes on disk: holes of a sparse file are free, but a file that has no blocks yet counts whole."""
    return status.st_blocks * BLOCK_BYTES or status.st_size


def find_excess(folder: Path, max_bytes: int, max_files: int, pids: Iterable[int] = ()) -> str:
    """Say which limit the content of `folder` exceeds, "" if none.

    Deleted files that one of the processes `pids` still holds open on that file system count too.
    Files, folders and links all count as files; a hard-linked file counts once. Counting ends at the first
    limit. A folder that cannot be read is made readable where we own it; one nested over 100 deep exceeds.
    """
    count = _Count(max_bytes, max_files)
    with suppress(OSError):
        root = os.open(folder, _FOLDER)
        try:
            device = os.fstat(root).st_dev
            _scan(root, device, DEPTH_LIMIT, count)
            for pid in pids:
                _add_deleted(pid, device, count)
        finally:
            os.close(root)
    return count.exceeded


def _scan(folder: int, device: int, depth: int, count: _Count) -> None:
    subfolders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                if status.st_dev != device:
                    continue
                subfolders.append(entry.name)
            count.add(status)
            if count.exceeded:
                return
    for name in subfolders:
        if depth == 0:
            count.exceeded = f"folders nested over {DEPTH_LIMIT} deep"
            return
        with suppress(OSError):
            child = _open_folder(name, folder)
            try:
                _scan(child, device, depth - 1, count)
            finally:
                os.close(child)
        if count.exceeded:
            return


def _add_deleted(pid: int, device: int, count: _Count) -> None:
    """Count the files that a process has open and nobody can find any more."""
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and status.st_dev == device:
                count.add(status)
            if count.exceeded:
                return


def _open_folder(name: str, parent: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        if sys.platform != "linux":
            raise
        _make_readable(name, parent)
        return os.open(name, _FOLDER, dir_fd=parent)


def _make_readable(name: str, parent: int) -> None:
    """chmod through a handle, so that a link put in the folder's place is not followed."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
    finally:
        os.close(handle)


class DiskWatch:
    """A thread that scans a folder every 100 ms, seldomer where a scan takes long.

    `on_excess` is called once, from that thread, with what was exceeded. `pids` tells the processes that may
    write there, on whose deleted files an eye is kept too.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        max_files: int,
        on_excess: Callable[[str], None],
        pids: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._on_excess = on_excess
        self._pids = pids
        self._step = min(DELETED_STEP_BYTES, max_bytes // 2)
        self._free = 0
        self._next_look = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="disk-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, from any thread."""
        self._stopped.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def excess(self) -> str:
        """Scan now: which limit is exceeded, "" if none."""
        return find_excess(self._folder, self._max_bytes, self._max_files, self._suspects())

    def _suspects(self) -> Iterable[int]:
        """The processes to ask for deleted files: none while the disk got no fuller, and not all the time."""
        try:
            disk = os.statvfs(self._folder)
        except OSError:
            return ()
        free, now = disk.f_bavail * disk.f_frsize, time.monotonic()
        self._free = max(self._free, free)
        if free > self._free - self._step and now < self._next_look:
            return ()
        self._free, self._next_look = free, now + DELETED_SECONDS
        return self._pids()

    def _watch(self) -> None:
        pause = INTERVAL_SECONDS
        while not self._stopped.wait(pause):
            began = time.monotonic()
            exceeded = self.excess()
            if exceeded:
                self._on_excess(exceeded)
                return
            pause = max(INTERVAL_SECONDS, REST_RATIO * (time.monotonic() - began))
