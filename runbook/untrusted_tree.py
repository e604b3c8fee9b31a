"""Walk over a folder that an agent filled: no link is followed, and no tree is too deep or too large."""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_DEPTH = 40
MAX_ENTRIES = 20_000
_MAX_NOTES = 50


@dataclass(slots=True)
class Notes:
    """Lines for a record: what was left out and why; bounded, and always printable text."""

    lines: list[str] = field(default_factory=list)

    def add(self, note: str) -> None:
        if len(self.lines) < _MAX_NOTES:
            encoded = note.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            self.lines.append(
                "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in encoded)
            )
        elif len(self.lines) == _MAX_NOTES:
            self.lines.append("further notes not listed")


@dataclass(frozen=True, slots=True)
class Found:
    """One entry below the root of a walk."""

    place: str
    """Its path relative to the root."""
    status: os.stat_result

    @property
    def is_too_deep(self) -> bool:
        """Whether it lies so deep that a walk does not enter it."""
        return self.place.count("/") >= MAX_DEPTH

    @property
    def kind(self) -> int:
        """The type of the entry itself, such as stat.S_IFREG."""
        return stat.S_IFMT(self.status.st_mode)


def walk(root: Path, notes: Notes, *, skip: Callable[[str], bool] = lambda _: False) -> Iterator[Found]:
    """All entries below `root`, shallow ones first, else by name, up to the limits.

    Folders that their owner may not read are made readable. Whatever `skip` says of a place is neither
    returned nor entered.
    """
    folders = deque([""])
    seen = 0
    while folders:
        folder = folders.popleft()
        for place in _places(root, folder, notes):
            if skip(place):
                continue
            seen += 1
            if seen > MAX_ENTRIES:
                notes.add(f"only the first {MAX_ENTRIES:,} files and folders were looked at")
                return
            if (found := _look(root, place, notes)) is None:
                continue
            yield found
            if found.kind != stat.S_IFDIR:
                continue
            if not found.is_too_deep:
                folders.append(place)
            else:
                notes.add(f"{place}: deeper than {MAX_DEPTH} folders; what is in it is left out")


def _places(root: Path, folder: str, notes: Notes) -> list[str]:
    try:
        with os.scandir(root / folder) as entries:
            return sorted(f"{folder}/{entry.name}" if folder else entry.name for entry in entries)
    except OSError as error:
        notes.add(f"{folder or '.'}: {error.strerror}")
        return []


def _look(root: Path, place: str, notes: Notes) -> Found | None:
    path = root / place
    try:
        found = Found(place, path.lstat())
        if found.kind == stat.S_IFDIR and found.status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            path.chmod(0o755)
    except OSError as error:
        notes.add(f"{place}: {error.strerror}")
        return None
    return found
