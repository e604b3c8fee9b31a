"""Reading the JSON and JSONL files of a data root, with file and line in every complaint."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from runbook.complaints import named, of_system

MIB = 1024 * 1024
MAX_ROW_BYTES = 16 * MIB
MAX_JSON_BYTES = 512 * MIB
_BOM = b"\xef\xbb\xbf"


class DatasetError(Exception):
    """A data root that cannot be used as it is; the message is one line with file, line and mend."""


class Digest(Protocol):
    """What hashlib's objects do."""

    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a JSONL file. `line` counts from 1."""

    file: Path
    line: int
    values: Mapping[str, object]

    def error(self, problem: str, mend: str) -> DatasetError:
        """A complaint about this row."""
        return _error(self.file, self.line, problem, mend)


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A whole JSON file, with its bytes to find the line that a complaint is about."""

    file: Path
    content: bytes
    value: object

    def error(self, problem: str, mend: str, *, near: str | None = None) -> DatasetError:
        """A complaint; `near` is a string in the file whose first line is named."""
        position = self._position(near) if near is not None else -1
        return _error(self.file, self.content.count(b"\n", 0, max(position, 0)) + 1, problem, mend)

    def _position(self, text: str) -> int:
        """Where the string first stands, in either way of writing what is not ASCII; -1 where it does not."""
        ways = (orjson.dumps(text), json.dumps(text).encode())
        return min((at for way in ways if (at := self.content.find(way)) >= 0), default=-1)

    def object(self, shape: str) -> Mapping[str, object]:
        """The value as an object; raises DatasetError where it is another."""
        if not isinstance(self.value, dict):
            raise self.error(f"this is not {shape}", "write one JSON object")
        return self.value


def read_rows(path: Path, digest: Digest) -> Iterator[Row]:
    """The objects of a JSONL file, one at a time; blank lines are skipped. All bytes read go into `digest`.

    Raises DatasetError for a line that is too long, not UTF-8, not JSON, or not an object.
    """
    try:
        refuse_special(path)
        with path.open("rb") as stream:
            number = 0
            while line := stream.readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    raise _error(
                        path, number, f"the line is longer than {MAX_ROW_BYTES // MIB} MiB", "split it"
                    )
                digest.update(line)
                text = (line.removeprefix(_BOM) if number == 1 else line).strip()
                if text:
                    yield Row(path, number, _row_object(path, number, text))
    except OSError as error:
        raise _unreadable(path, error) from error


def refuse_special(path: Path) -> None:
    """Raise DatasetError for a pipe, socket or device, which would be waited for."""
    if not path.is_file() and not path.is_dir() and path.exists():
        raise DatasetError(f"{path} is not a regular file (put the file itself there)")


def _row_object(path: Path, number: int, line: bytes) -> Mapping[str, object]:
    value = _parse(path, line, first_line=number)
    if not isinstance(value, dict):
        raise _error(path, number, "the line is not a JSON object", "write {...} on each line")
    return value


def read_json(path: Path, digest: Digest | None) -> JsonFile:
    """A whole JSON file; raises DatasetError for one that is too big, not UTF-8, or not JSON."""
    try:
        refuse_special(path)
        if path.stat().st_size > MAX_JSON_BYTES:
            raise DatasetError(
                f"{path}: the file is larger than {MAX_JSON_BYTES // MIB} MiB (make it smaller)"
            )
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if digest is not None:
        digest.update(content)
    return JsonFile(path, content, _parse(path, content.removeprefix(_BOM), first_line=1))


def _parse(path: Path, content: bytes, *, first_line: int) -> object:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        raise _error(path, line, f"byte {error.start + 1} is not UTF-8", "save the file as UTF-8") from error
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise _error(
            path, line, f"not valid JSON: {error.msg} (column {error.colno})", "mend the JSON"
        ) from error


def _error(path: Path, line: int, problem: str, mend: str) -> DatasetError:
    return DatasetError(f"{path}:{line}: {problem} ({mend})")


def _unreadable(path: Path, error: OSError) -> DatasetError:
    return DatasetError(of_system(named(error, path)))
