"""Keep or remove a folder that an agent filled: no link followed, nothing special kept, sizes bounded.

Everything here runs after the agent's last process has ended.
"""

import errno
import os
import stat
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_MAX_DEPTH = 40
_MAX_ENTRIES = 20_000
_MAX_FILE_BYTES = 256 * 1024 * 1024
_MAX_BYTES = 512 * 1024 * 1024
_MAX_NOTES = 50
_PIECE = 1024 * 1024


def keep(source: Path, target: Path) -> list[str]:
    """Move `source` to `target`; what could not be kept is said in the returned notes."""
    notes = _Notes()
    try:
        source.chmod(0o755)  # a folder that its owner may not write cannot be moved
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            notes.add(f"workspace stays at {source}: {error.strerror}")
            return notes.lines
        _copy_tree(source, target, notes)
        discard(source)
        if os.path.lexists(source):
            notes.add(f"workspace could not be removed from {source}")
    else:
        _remove_specials(target, notes)
    return notes.lines


def discard(folder: Path) -> None:
    """Remove a folder however deep it is; what resists stays."""
    # rm copes with trees deeper than Python's recursion and longer than a path may be.
    subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


@dataclass(slots=True)
class _Notes:
    lines: list[str] = field(default_factory=list)

    def add(self, note: str) -> None:
        if len(self.lines) < _MAX_NOTES:
            self.lines.append(note.encode("utf-8", "backslashreplace").decode())
        elif len(self.lines) == _MAX_NOTES:
            self.lines.append("further notes not listed")


@dataclass(frozen=True, slots=True)
class _Found:
    """One entry below the root of a walk, by its path relative to it."""

    place: str
    status: os.stat_result

    @property
    def kind(self) -> int:
        return stat.S_IFMT(self.status.st_mode)


def _walk(root: Path, notes: _Notes) -> Iterator[_Found]:
    """All entries below `root`, the shallow ones first, up to the limits. Folders are made readable."""
    folders = deque([("", 0)])
    seen = 0
    while folders:
        folder, depth = folders.popleft()
        try:
            names = sorted(entry.name for entry in os.scandir(root / folder))
        except OSError as error:
            notes.add(f"{folder or '.'}: {error.strerror}")
            continue
        for name in names:
            seen += 1
            if seen > _MAX_ENTRIES:
                notes.add(f"only the first {_MAX_ENTRIES:,} files and folders were looked at")
                return
            try:
                found = _Found(os.path.join(folder, name), os.lstat(root / folder / name))  # noqa: PTH118
                if found.kind == stat.S_IFDIR and found.status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                    os.chmod(root / found.place, 0o755)  # noqa: PTH101
            except OSError as error:
                notes.add(f"{folder or '.'}/{name}: {error.strerror}")
                continue
            yield found
            if found.kind == stat.S_IFDIR and depth < _MAX_DEPTH:
                folders.append((found.place, depth + 1))
            elif found.kind == stat.S_IFDIR:
                notes.add(f"{found.place}: deeper than {_MAX_DEPTH} folders, not looked at")


def _remove_specials(root: Path, notes: _Notes) -> None:
    for found in _walk(root, notes):
        if found.kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
            notes.add(f"{found.place}: neither file, folder nor link; removed")
            try:
                (root / found.place).unlink()
            except OSError as error:
                notes.add(f"{found.place}: {error.strerror}")


def _copy_tree(source: Path, target: Path, notes: _Notes) -> None:
    room = _MAX_BYTES
    try:
        target.mkdir()
    except OSError as error:
        notes.add(f"workspace not kept: {error.strerror}")
        return
    for found in _walk(source, notes):
        try:
            room -= _copy(found, source, target, room)
        except OSError as error:
            notes.add(f"{found.place}: {error.strerror or error}")


def _copy(found: _Found, source: Path, target: Path, room: int) -> int:
    """Copy one entry; the bytes it took. Raises OSError where it is not copied."""
    place = target / found.place
    if found.kind == stat.S_IFDIR:
        place.mkdir()
    elif found.kind == stat.S_IFLNK:
        place.symlink_to((source / found.place).readlink())
    elif found.kind != stat.S_IFREG:
        raise OSError("neither file, folder nor link; not kept")
    elif found.status.st_size > min(room, _MAX_FILE_BYTES):
        raise OSError(f"{found.status.st_size:,} bytes; too large to be kept")
    else:
        return _copy_file(source / found.place, place, found.status)
    return 0


def _copy_file(source: Path, target: Path, status: os.stat_result) -> int:
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as reading, target.open("xb") as writing:
        left = status.st_size
        while left > 0 and (piece := reading.read(min(left, _PIECE))):
            writing.write(piece)
            left -= len(piece)
    target.chmod(stat.S_IMODE(status.st_mode) & 0o777)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return status.st_size
