"""The state of folders that nobody should have changed, to say afterwards what did change."""

import os
import stat
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KEPT = 8


@dataclass(frozen=True, slots=True)
class Snapshot:
    """(size, mtime in ns, mode) of every file and folder, by its path below the folder."""

    entries: dict[str, tuple[int, int, int]]

    @classmethod
    def take(cls, folder: Path) -> "Snapshot":
        """Look at everything below `folder`, following no link."""
        entries = {}
        ahead = [""]
        while ahead:
            prefix = ahead.pop()
            with suppress(OSError), os.scandir(folder / prefix) as found:
                for entry in found:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    name = prefix + entry.name
                    entries[name] = (status.st_size, status.st_mtime_ns, status.st_mode)
                    if stat.S_ISDIR(status.st_mode):
                        ahead.append(name + "/")
        return cls(entries)

    def differences(self, before: "Snapshot") -> list[str]:
        """The paths that are new, gone or changed since `before`, sorted."""
        if self.entries == before.entries:
            return []
        names = self.entries.keys() | before.entries.keys()
        return sorted(name for name in names if self.entries.get(name) != before.entries.get(name))


class Snapshots:
    """The latest snapshots of a few folders, so that one is taken per use and not two."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: OrderedDict[Path, Snapshot] = OrderedDict()

    def latest(self, folder: Path) -> Snapshot:
        """The snapshot that was taken last, or one taken now."""
        with self._lock:
            known = self._latest.get(folder)
        return known or self.renew(folder)

    def renew(self, folder: Path) -> Snapshot:
        """Take a snapshot now."""
        snapshot = Snapshot.take(folder)
        with self._lock:
            self._latest[folder] = snapshot
            self._latest.move_to_end(folder)
            while len(self._latest) > KEPT:
                self._latest.popitem(last=False)
        return snapshot
