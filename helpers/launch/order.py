"""The order: JSON at the beginning of standard input, before what the command itself is given there.

An environment variable holds at most 128 KiB, and every process of the sandbox can read it; this has no limit
and is gone once it was read.
"""

from __future__ import annotations

import json
import os
import stat

STDIN = 0
PIECE = 1 << 20
_DIGITS = 12


class OrderError(Exception):
    """One clear line of what is wrong with the order."""


def read_order() -> dict[str, object]:
    """The order that stands first on standard input: its size in bytes, a line feed, and so much JSON.

    Raises:
        OrderError: there is none, or it is cut off or no JSON object.
    """
    try:
        order = json.loads(_exactly(_size()))
    except (ValueError, RecursionError) as error:
        raise OrderError("the order is not JSON: %s" % error) from None
    if not isinstance(order, dict):
        raise OrderError("the order is not a JSON object")
    return order


def leave_rest(given: bool) -> None:
    """Make standard input what the command would have without us; nothing where it is not `given` any.

    A file would still hold the order for whoever opens /dev/stdin or seeks, so the rest gets one of its own.
    """
    if not given:
        _replace_stdin(os.open(os.devnull, os.O_RDONLY))
    elif stat.S_ISREG(os.fstat(STDIN).st_mode) and hasattr(os, "memfd_create"):
        rest = os.memfd_create("stdin")
        with os.fdopen(rest, "wb", closefd=False) as file:
            for piece in iter(lambda: os.read(STDIN, PIECE), b""):
                file.write(piece)
        os.lseek(rest, 0, os.SEEK_SET)
        _replace_stdin(rest)


def _size() -> int:
    digits = b""
    while not digits.endswith(b"\n") and len(digits) < _DIGITS:
        piece = os.read(STDIN, 1)
        if not piece:
            break
        digits += piece
    if not (digits.endswith(b"\n") and digits[:-1].isdigit()):
        raise OrderError("standard input does not begin with an order")
    return int(digits)


def _exactly(size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(STDIN, min(size, PIECE))
        if not piece:
            raise OrderError("the order is cut off: %d bytes are missing" % size)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _replace_stdin(descriptor: int) -> None:
    os.dup2(descriptor, STDIN)
    os.close(descriptor)
