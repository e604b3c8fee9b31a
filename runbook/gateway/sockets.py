"""The sockets that agents connect to."""

import contextlib
import fcntl
import os
import resource
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from typing import Self

from runbook.gateway.settings import GatewayError

SOCKET = "model.sock"
_LONGEST_PATH = 107
"""Bytes that the kernel takes for the path of a unix socket."""
_PREFIX = "rb-"
_OWNER = ".owner"
_LOCKED = b"locked\n"
_OPEN_FILES = 8192
_ROOM = len("/0123456789/" + SOCKET)


def raise_file_limit() -> None:
    """Let this process open more files at a time where its limits allow it: each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class SocketRoot:
    """A private folder for the lines' directories, with a path short enough for sockets.

    A file in it is locked for as long as its process lives; a root whose file nobody locks is swept when the
    next one is made beside it.
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def make(cls, parent: Path | None) -> Self:
        """Make one in `parent`, or in the temporary folder.

        Raises:
            GatewayError: no such folder can be made.
        """
        candidates = [parent] if parent else [Path(tempfile.gettempdir()), Path("/tmp")]
        for candidate in candidates:
            if len(os.fsencode(candidate)) + len(f"/{_PREFIX}01234567") + _ROOM <= _LONGEST_PATH:
                try:
                    _sweep(candidate)
                    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=candidate))
                    lock = os.open(path / _OWNER, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    os.write(lock, _LOCKED)
                except OSError as error:
                    raise GatewayError(f"no folder for sockets can be made in {candidate}: {error}") from None
                return cls(path, lock)
        raise GatewayError(f"{candidates[0]} is too long a path for sockets; name a shorter one (`sockets`)")

    def close(self) -> None:
        """Remove the folder with what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _sweep(parent: Path) -> None:
    """Remove the roots of dead processes of this user."""
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            lock = os.open(path / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Written once it is locked: a root without it is only just being made.
                if os.read(lock, len(_LOCKED)) == _LOCKED:
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def bind(directory: Path) -> socket.socket:
    """A listening socket `model.sock` in a directory (made where it is missing, mode 0711) that any user may
    connect to; one that a dead gateway left is replaced.

    Raises:
        GatewayError: the path is too long or cannot be used.
    """
    path = directory / SOCKET
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise GatewayError(f"the socket path {path} is longer than {_LONGEST_PATH} bytes")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        directory.mkdir(exist_ok=True)
        directory.chmod(0o711)
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise GatewayError(f"no socket can be made at {path}: {error}") from None
    return listener


def bind_loopback() -> socket.socket:
    """A listening TCP socket on a free loopback port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise GatewayError(f"no loopback port can be had: {error}") from None
    return listener


def remove(directory: Path) -> None:
    """Remove the socket, and its directory where nothing else is in it."""
    (directory / SOCKET).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()
