"""Read files that an agent wrote: links, pipes, devices, giants and races are refused, never followed."""

import os
import stat
from enum import StrEnum
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Fault(StrEnum):
    """Why a file was not read."""

    MISSING = "missing"
    NOT_REGULAR = "not_regular"  # a link, folder, pipe, socket or device; also a link on the way to it
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"


class UnreadableFile(Exception):  # noqa: N818 - says what it is
    """An untrusted file that must not or cannot be read."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


def read_untrusted(path: Path, limit: int, *, below: Path | None = None) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Every folder between `below` (default: the file's own folder) and the file is opened without
    following links, so that nothing inside `below` can lead elsewhere; `below` itself is trusted.

    Raises:
        UnreadableFile: it is missing, not a regular file, too large or unreadable.
        ValueError: the path does not lie below `below`.
    """
    root = path.parent if below is None else below
    *folders, name = path.relative_to(root).parts
    if ".." in folders or name == "..":
        raise ValueError(f"{path} does not lie below {root}")
    try:
        return _read(root, folders, name, limit)
    except FileNotFoundError as error:
        raise UnreadableFile(Fault.MISSING, f"{name} is missing") from error
    except OSError as error:
        raise UnreadableFile(Fault.UNREADABLE, f"{name} cannot be read: {error.strerror}") from error


def _read(root: Path, folders: list[str], name: str, limit: int) -> bytes:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            below = _open_folder(part, folder)
            os.close(folder)
            folder = below
        # Looked at before it is opened: opening a device can already have effects.
        _check_regular(name, os.stat(name, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        _check_regular(name, status)
        data = file.read(limit + 1) if status.st_size <= limit else b""
    if status.st_size > limit or len(data) > limit:
        raise UnreadableFile(Fault.TOO_LARGE, f"{name} is larger than {limit:,} bytes")
    return data


def _open_folder(name: str, parent: int) -> int:
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode):
        raise UnreadableFile(Fault.NOT_REGULAR, f"{name} is {_kind(mode)}, not a folder")
    return os.open(name, _FOLDER, dir_fd=parent)


def _check_regular(name: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(Fault.NOT_REGULAR, f"{name} is {_kind(status.st_mode)}, not a regular file")


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFREG: "a file",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")
