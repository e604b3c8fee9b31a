"""The sockets that agents connect to."""

import contextlib
import os
import resource
import socket
import tempfile
from pathlib import Path

from runbook.gateway.settings import GatewayError

SOCKET = "model.sock"
_LONGEST_PATH = 107
"""Bytes that the kernel takes for the path of a unix socket."""
_OPEN_FILES = 8192
_ROOM = len("/0123456789/" + SOCKET)


def raise_file_limit() -> None:
    """Let this process open more files at a time where its limits allow it: each connection takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def make_root(parent: Path | None) -> Path:
    """A new private folder for the lines' directories, with a path short enough for sockets.

    Raises:
        GatewayError: no such folder can be made.
    """
    candidates = [parent] if parent else [Path(tempfile.gettempdir()), Path("/tmp")]
    for candidate in candidates:
        if len(os.fsencode(candidate)) + len("/rb-01234567") + _ROOM <= _LONGEST_PATH:
            try:
                return Path(tempfile.mkdtemp(prefix="rb-", dir=candidate))
            except OSError as error:
                raise GatewayError(f"no folder for sockets can be made in {candidate}: {error}") from None
    raise GatewayError(f"{candidates[0]} is too long a path for sockets; name a shorter one (`sockets`)")


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
