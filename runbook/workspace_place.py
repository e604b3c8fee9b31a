"""Where the workspaces of one process lie, and how a later process removes what a killed one left.

The place is a folder with a random name in the temporary folder. A registry file, locked as long as its
process lives, holds the folder's path; a registry file that nobody locks belongs to a dead process.
"""

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from runbook.complaints import naming
from runbook.workspace_keeping import discard


class WorkspacePlace:
    """A folder for workspaces, removed with whatever is in it when closed."""

    def __init__(self, path: Path, entry: Path, lock: int) -> None:
        self.path = path
        self._entry = entry
        self._lock = lock

    @classmethod
    def open(cls, registry: Path) -> Self:
        """Make a place and register it.

        Raises:
            OSError: the registry or the temporary folder cannot be written.
        """
        registry.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(prefix=""))
        try:
            entry = registry / path.name
            lock = os.open(entry, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
            # Locked before the path is written: an entry without a path is never swept.
            fcntl.flock(lock, fcntl.LOCK_EX)
            with naming(entry):
                os.write(lock, os.fsencode(path))
        except OSError:
            path.rmdir()
            raise
        return cls(path, entry, lock)

    def close(self) -> None:
        """Remove the folder and its entry."""
        discard(self.path)
        self._entry.unlink(missing_ok=True)
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sweep(registry: Path) -> list[Path]:
    """Remove the places of dead processes; returns the folders that were removed."""
    removed: list[Path] = []
    if not registry.is_dir():
        return removed
    for entry in sorted(registry.iterdir()):
        with suppress(OSError):
            lock = os.open(entry, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path = Path(os.fsdecode(os.read(lock, 4096)))
                if _is_ours(path, entry.name):
                    discard(path)
                    removed.append(path)
                if path.name == entry.name:
                    entry.unlink()
            finally:
                os.close(lock)
    return removed


def _is_ours(path: Path, name: str) -> bool:
    """Whether a folder is still the one that was registered, as far as can be told."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return path.is_absolute() and path.name == name and path.is_dir() and status.st_uid == os.geteuid()
