"""Writing results, whole or not at all, and reading them back."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import orjson
from pydantic import BaseModel

from runbook.complaints import naming


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: temporary name in the same folder, fsync, rename.

    Raises:
        OSError: nothing was written and what was there before is unchanged; it names the file.
    """
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when the block ends well, and else leaves no trace.

    Raises:
        OSError: what was there before is unchanged; it names the file. Also where a device or a pipe is
            there: a file would take its place for everybody.
    """
    with naming(path):
        _refuse_irregular(path)
        with _temporary(path) as file:
            yield file


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read. Raises OSError, also for a pipe, which would wait for a writer, and a device."""
    _refuse_irregular(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path) -> bytes:
    """All of a file. Raises OSError as `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def _refuse_irregular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(f"{path}: it is a device, a pipe or a socket, not a file (name a file)")


@contextmanager
def _temporary(path: Path) -> Iterator[IO[bytes]]:
    with _about(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _about(path):
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Let an error of the temporary file name the one that was asked for, or the folder that is not there."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path.parent}: there is no such folder (make it, or choose another place)"
        ) from None
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def write_json(path: Path, value: BaseModel | dict[str, object]) -> None:
    """Write a record as indented JSON, atomically."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    write_atomically(path, orjson.dumps(plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
