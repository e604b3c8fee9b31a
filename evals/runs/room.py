"""A run whose disk is full waits for room and goes on: nothing that was paid for is thrown away."""

import errno
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from manifests.errors import StoreFullError

LOOK_SECONDS = 2.0
PROBE_BYTES = 8 * 2**20
"""What must fit before work is tried again; more than a question's records, less than a haystack's index."""
AGAIN_SECONDS = 60.0
"""The same pause is not told again sooner."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

T = TypeVar("T")


class Room:
    """Holds back the threads of a run while a disk is full. Safe to use from several threads at once."""

    def __init__(
        self, cancel: threading.Event, say: Callable[[str], None], *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        """When `cancel` is set nothing is waited for any more; `say` is told of a pause and of its end."""
        self._cancel = cancel
        self._say = say
        self._look_seconds = look_seconds
        self._lock = threading.Lock()
        self._silent_until = 0.0

    def keep(self, work: Callable[[], T], folder: Path) -> T:
        """The result of `work`, which is done again once there is room where it failed for want of it.

        Args:
            folder: where room is looked for when the error names no file.

        Raises what `work` raises, when it is about anything else or the run is cancelled.
        """
        while True:
            try:
                return work()
            except (OSError, StoreFullError) as error:
                if not is_full(error) or not self._waited(error, folder):
                    raise

    def _waited(self, error: Exception, folder: Path) -> bool:
        """Wait until there is room; False where the run is cancelled before."""
        place = _existing(Path(os.fsdecode(_name(error) or folder)))
        self._tell(f"paused: the disk is full at {place}: free some space, and the run goes on by itself")
        while not self._cancel.wait(self._look_seconds):
            with self._lock:  # one probe at a time, else several would fill what little there is
                if has_room(place):
                    return True
        return False

    def _tell(self, line: str) -> None:
        with self._lock:
            if time.monotonic() < self._silent_until:
                return
            self._silent_until = time.monotonic() + AGAIN_SECONDS
        with suppress(OSError):  # what is printed may go to the same disk
            self._say(line)


def is_full(error: Exception) -> bool:
    """Whether an error says that a disk, or a quota of it, is used up."""
    return isinstance(error, StoreFullError) or (isinstance(error, OSError) and error.errno in _FULL)


def has_room(folder: Path) -> bool:
    """Whether a file of PROBE_BYTES can really be written: free blocks say nothing of quotas."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def _name(error: Exception) -> str | bytes | None:
    cause = error.__cause__ if isinstance(error, StoreFullError) else error
    name = getattr(cause, "filename", None)
    return name if isinstance(name, str | bytes) else None


def _existing(path: Path) -> Path:
    """The nearest folder that is there."""
    return next((one for one in (path, *path.absolute().parents) if one.is_dir()), Path.cwd())
