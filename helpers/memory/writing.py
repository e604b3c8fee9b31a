"""Write into the workspace: whole files or none, and never through a link."""

from __future__ import annotations

import os

from .failure import HelperError


def write_whole(path: str, raw: bytes) -> None:
    """Write a file under a temporary name beside `path`, flush it to disk, and rename it.

    A link at `path` is replaced, not followed; a folder above it that is a link is refused.

    Raises:
        HelperError: the folder is missing or a link, or the disk does not take it.
    """
    folder, name = os.path.split(path)
    temporary = f".{name}.{os.getpid()}"
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise HelperError(f"cannot write into {folder}: {error.strerror}") from None
    try:
        _write(place, temporary, name, raw)
    except OSError as error:
        raise HelperError(f"cannot write {path}: {error.strerror}") from None
    finally:
        os.close(place)


def make_folder(path: str) -> None:
    """Make a folder, and the one above it; neither may be a link.

    Raises:
        HelperError: something else is in the way.
    """
    for folder in (os.path.dirname(path), path):
        _make_one(folder)


def _make_one(folder: str) -> None:
    try:
        os.mkdir(folder)
    except FileExistsError:
        if os.path.islink(folder) or not os.path.isdir(folder):
            raise HelperError(f"{folder} is not a folder") from None
    except OSError as error:
        raise HelperError(f"cannot make {folder}: {error.strerror}") from None


def _write(place: int, temporary: str, name: str, raw: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        target = os.open(temporary, flags, 0o644, dir_fd=place)
    except FileExistsError:  # of a process that was killed and had the same number
        os.unlink(temporary, dir_fd=place)
        target = os.open(temporary, flags, 0o644, dir_fd=place)
    try:
        with open(target, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        os.unlink(temporary, dir_fd=place)
        raise
