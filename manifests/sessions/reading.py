"""The lines of a session file, decoded one by one; what cannot be decoded is said, never fatal."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

MAX_LINE = 64 * 2**20  # bytes


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line that is not blank, counted from 1. `problem` says why `record` is empty."""

    number: int
    record: dict[str, Any]
    problem: str = ""


def session_lines(file: BinaryIO) -> Iterator[SessionLine]:
    """The lines of `file`. A last one that is still being written is left out."""
    number = 0
    while True:
        number += 1
        try:
            line = file.readline(MAX_LINE + 1)
        except OSError as error:  # of the disk, so nothing after it can be read either
            yield SessionLine(number, {}, f"cannot be read ({error.strerror})")
            return
        if not line:
            return
        ended = line.endswith(b"\n")
        if len(line) > MAX_LINE and not ended:
            _skip_line(file)
            yield SessionLine(number, {}, f"is longer than {MAX_LINE >> 20} MiB")
        elif line.strip():
            decoded = _decoded(number, line)
            if ended or not decoded.problem:
                yield decoded


def _skip_line(file: BinaryIO) -> None:
    while (part := file.readline(2**20)) and not part.endswith(b"\n"):
        pass


def _decoded(number: int, line: bytes) -> SessionLine:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        # Not necessarily wrong: broken UTF-8, lone surrogates and NaN get here too.
        try:
            record = json.loads(line.decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            return SessionLine(number, {}, f"is not valid JSON ({reason})")
    if not isinstance(record, dict):
        return SessionLine(number, {}, "is not a JSON object")
    return SessionLine(number, record)
