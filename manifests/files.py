"""Writing files that tell nothing but their content: fixed times and modes, never half visible.

Hot loops call these tens of thousands of times, so they speak to the kernel directly and take a folder's
descriptor (`dir_fd`) instead of walking the same path again for each file.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, BufferedWriter
from pathlib import Path

from .errors import StoreError, StoreFullError

FILE_MODE = 0o644
FOLDER_MODE = 0o755
EPOCH_NS = 946_684_800 * 10**9  # 2000-01-01T00:00:00Z, the time of everything materialised
FIXED_TIMES = (EPOCH_NS, EPOCH_NS)

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_CHUNK = 2**24  # bytes
_NO_KERNEL_COPY = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def reporting(doing: str) -> Iterator[None]:
    """Turn the operating system's refusals into one StoreError that says what to do."""
    try:
        yield
    except OSError as error:
        raise explained(error, doing) from error


def explained(error: OSError, doing: str) -> StoreError:
    """The StoreError for an operating-system error met while `doing` something."""
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in _FULL:
        return StoreFullError(
            f"{doing}: no space left on the device{where}; "
            "what was finished is kept: free space, then run the same again"
        )
    if error.errno == errno.EROFS:
        return StoreError(f"{doing}: the file system is read-only{where}; choose another --store")
    if error.errno in (errno.EACCES, errno.EPERM):
        return StoreError(f"{doing}: permission denied{where}; choose another --store or change its owner")
    return StoreError(f"{doing}: {error.strerror or error}{where}")


def write_new(name: str, data: bytes, folder: int | None = None) -> None:
    """Create file `name` (relative to descriptor `folder`) with `data`; it must not exist."""
    fd = os.open(name, _NEW, FILE_MODE, dir_fd=folder)
    try:
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, memoryview(data)[written:])
        _seal_file(fd)
    finally:
        os.close(fd)


def _seal_file(fd: int) -> None:
    if os.fstat(fd).st_mode & 0o7777 != FILE_MODE:  # an unusual umask; asking is quicker than setting
        os.fchmod(fd, FILE_MODE)
    os.utime(fd, ns=FIXED_TIMES)


def _pour(source: BufferedReader, target: int) -> None:
    """Copy what is left of `source`, without its bytes passing through us where the kernel can do that."""
    try:
        while os.copy_file_range(source.fileno(), target, _CHUNK):
            pass
    except (OSError, AttributeError) as error:  # only Linux has the call
        if isinstance(error, OSError) and error.errno not in _NO_KERNEL_COPY:
            raise
        with os.fdopen(target, "wb", closefd=False) as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)


def make_folder(name: str, folder: int | None = None) -> int:
    """Create a folder and return a descriptor of it, to be closed by the caller."""
    os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    os.fchmod(fd, FOLDER_MODE)
    return fd


def seal_folder(fd: int) -> None:
    """Give a finished folder its fixed times, and close its descriptor."""
    os.utime(fd, ns=FIXED_TIMES)
    os.close(fd)


def replace_file(path: Path, data: bytes) -> None:
    """Write a small record durably: temporary name in the same folder, fsync, rename."""
    with _replacing(path, data) as file:
        os.fsync(file.fileno())


def replace_hint(path: Path, data: bytes) -> None:
    """Write a small record that a power cut may spoil, for its readers check it: no wait for the disk."""
    with _replacing(path, data):
        pass


@contextmanager
def _replacing(path: Path, data: bytes) -> Iterator[BufferedWriter]:
    """A new file with `data`, which takes its name when the block is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def copy_file(source: str, target: str) -> None:
    """Copy `source` to the new file `target`, with fixed times and mode."""
    with open(source, "rb") as file:  # noqa: PTH123 - hot loop
        fd = os.open(target, _NEW, FILE_MODE)
        try:
            _pour(file, fd)
            _seal_file(fd)
        finally:
            os.close(fd)


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, whatever is left of it."""
    import shutil  # takes long to import, and most processes never need it

    shutil.rmtree(path, ignore_errors=True)


def try_lock(fd: int, *, exclusive: bool) -> bool:
    """Take a lock on an open file without waiting; False where somebody else holds it."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
