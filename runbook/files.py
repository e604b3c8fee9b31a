"""Writing results: whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
        OSError: what was there before is unchanged; it names the file.
    """
    with naming(path), _temporary(path) as file:
        yield file


@contextmanager
def _temporary(path: Path) -> Iterator[IO[bytes]]:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: BaseModel | dict[str, object]) -> None:
    """Write a record as indented JSON, atomically."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    write_atomically(path, orjson.dumps(plain, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
