"""Keep or remove a folder that an agent filled: no link followed or kept, nothing special, sizes bounded.

Everything here runs after the agent's last process has ended.
"""

import errno
import os
import stat
import subprocess
from pathlib import Path

from runbook.untrusted_tree import Found, Notes, walk

_MAX_FILE_BYTES = 256 * 1024 * 1024
_MAX_BYTES = 512 * 1024 * 1024
_PIECE = 1024 * 1024
_SHOWN = 200  # characters of a link's target
_ARMED = frozenset({".git", ".envrc", ".vscode", ".idea", ".gitmodules"})


def keep(source: Path, target: Path) -> list[str]:
    """Move `source` to `target`; what could not be kept is said in the returned notes."""
    notes = Notes()
    try:
        source.chmod(0o755)  # a folder that its owner may not write cannot be moved
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            notes.add(f"workspace stays at {source}: {error.strerror}")
            return notes.lines
        _copy_tree(source, target, notes)
        _tidy(target, notes)
        discard(source)
        if os.path.lexists(source):
            notes.add(f"workspace could not be removed from {source}")
    else:
        _tidy(target, notes)
    return notes.lines


def discard(folder: Path) -> None:
    """Remove a folder however deep it is; what resists stays."""
    # rm copes with trees deeper than Python's recursion and longer than a path may be.
    subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def _tidy(root: Path, notes: Notes) -> None:
    """Take out what no tool that walks over a run should meet."""
    armed: list[Path] = []
    for found in walk(root, notes):
        if Path(found.place).name.lower() in _ARMED:
            armed.append(root / found.place)
        if found.kind == stat.S_IFDIR and found.is_too_deep:
            discard(root / found.place)
        elif found.kind == stat.S_IFLNK:
            _disarm_link(root, found.place, notes)
        elif found.kind not in (stat.S_IFREG, stat.S_IFDIR):
            notes.add(f"{found.place}: neither file, folder nor link; removed")
            try:
                (root / found.place).unlink()
            except OSError as error:
                notes.add(f"{found.place}: {error.strerror}")
    _disarm(armed, notes)


def _disarm(armed: list[Path], notes: Notes) -> None:
    """Rename what tools of the host obey by its mere presence, such as a planted repository's config."""
    for path in reversed(armed):  # what lies deeper first
        try:
            os.rename(path, path.with_name(f"kept-{path.name.lstrip('.')}"))  # noqa: PTH104
        except OSError as error:
            notes.add(f"{path.name}: {error.strerror}")
        else:
            notes.add(f"{path.name}: renamed, tools would obey it")


def _disarm_link(root: Path, place: str, notes: Notes) -> None:
    """Put a text file that says where the link led in its place: nobody who opens it later is led there."""
    link = root / place
    try:
        target = os.fsencode(os.readlink(link))  # noqa: PTH115 - a Path would change what is written there
        link.unlink()
        with link.open("xb") as file:
            file.write(b"link to " + target + b"\n")
    except OSError as error:
        notes.add(f"{place}: {error.strerror}")
    else:
        notes.add(f"{place}: a link to {os.fsdecode(target)[:_SHOWN]}; kept as text")


def _copy_tree(source: Path, target: Path, notes: Notes) -> None:
    room = _MAX_BYTES
    try:
        target.mkdir()
    except OSError as error:
        notes.add(f"workspace not kept: {error.strerror}")
        return
    for found in walk(source, notes):
        try:
            room -= _copy(found, source, target, room)
        except OSError as error:
            notes.add(f"{found.place}: {error.strerror or error}")


def _copy(found: Found, source: Path, target: Path, room: int) -> int:
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
