"""`model_bodies.jsonl`: each distinct part of a body once, one line each.

A line is `{"sha256": digest, ...}` with the part under one of these names: `text`; `deflate` (zlib, base64),
where that is shorter; `base64`, where it is not text; `result`, where it is the text of a tool result that
`model_calls.jsonl` holds: `[call number, position]`.
"""

import base64
import os
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from runbook.files import open_regular, read_regular
from runbook.gateway.parts import join
from runbook.gateway.records import ModelCall

CALLS = "model_calls.jsonl"
BODIES = "model_bodies.jsonl"
_WORTH_PACKING = 200
_BLOCK = 2**16
_BEST, _FAST = 9, 1
_LARGE = 2**20
"""Bytes from which the best compression would take seconds."""


def body_line(digest: str, data: bytes) -> bytes:
    """The line of one part, newline included."""
    if len(data) >= _WORTH_PACKING:
        packed = base64.b64encode(zlib.compress(data, _FAST if len(data) > _LARGE else _BEST))
        if len(packed) < 0.9 * len(data):
            return orjson.dumps({"sha256": digest, "deflate": packed.decode()}) + b"\n"
    try:
        line = {"sha256": digest, "text": data.decode("utf-8")}
    except UnicodeDecodeError:
        line = {"sha256": digest, "base64": base64.b64encode(data).decode()}
    return orjson.dumps(line) + b"\n"


def data_of(line: Mapping[str, str]) -> bytes:
    """The part that a line of `body_line` holds."""
    if "text" in line:
        return line["text"].encode("utf-8")
    if "deflate" in line:
        return zlib.decompress(base64.b64decode(line["deflate"]))
    return base64.b64decode(line["base64"])


class Bodies:
    """The parts of one attempt, read from its folder; only their places are held in memory."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError where the folder holds no bodies. A last line that was cut off is passed over."""
        self._path = folder / BODIES
        self._places: dict[str, tuple[int, int]] = {}
        with open_regular(self._path) as file:
            start = 0
            for line in file:
                if line.endswith(b"\n"):
                    self._places[orjson.loads(line)["sha256"]] = (start, len(line))
                start += len(line)

    def __contains__(self, digest: object) -> bool:
        return digest in self._places

    def digests(self) -> set[str]:
        """Names of all parts."""
        return set(self._places)

    def load(self, digest: str) -> bytes:
        """One part; KeyError where it is missing."""
        start, length = self._places[digest]
        line = orjson.loads(_read(self._path, start, length))
        if "result" not in line:
            return data_of(line)
        number, position = line["result"]
        call = ModelCall.model_validate_json(_read(self._path.with_name(CALLS), *self._calls[number]))
        text: str = call.tool_results[position].text
        return text.encode("utf-8")

    @cached_property
    def _calls(self) -> dict[int, tuple[int, int]]:
        places, start = {}, 0
        with open_regular(self._path.with_name(CALLS)) as file:
            for line in file:
                if line.endswith(b"\n"):
                    places[orjson.loads(line)["number"]] = (start, len(line))
                start += len(line)
        return places

    def request(self, call: ModelCall) -> Any:
        """The JSON value of a call's request body; bytes where it was not JSON, None where there was none."""
        if not call.request:
            return None
        if call.request_is_json:
            return join(call.request[0], self.load)
        return self.load(call.request[0])

    def response(self, call: ModelCall) -> bytes | None:
        """The response body as the agent received it; None where there was none."""
        return None if call.response is None else self.load(call.response)


def load_calls(folder: Path) -> list[ModelCall]:
    """The calls of an attempt in the order of their requests; a last line that was cut off is passed over."""
    path = folder / CALLS
    if not path.exists():
        return []
    lines = read_regular(path).split(b"\n")[:-1]
    return sorted(
        (ModelCall.model_validate_json(line) for line in lines if line), key=lambda call: call.number
    )


def load_request(folder: Path, call: ModelCall) -> Any:
    """`Bodies(folder).request(call)`, for a single call."""
    return Bodies(folder).request(call)


class BodyLog:
    """Appends parts that are new to a folder; one write per call."""

    def __init__(self, folder: Path) -> None:
        self._known = Bodies(folder).digests() if (folder / BODIES).exists() else set[str]()
        self._file = os.open(folder / BODIES, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        cut_torn_line(self._file)

    def add(self, parts: Mapping[str, bytes], results: Mapping[str, tuple[int, int]]) -> None:
        """Write those parts that are not there yet; for those in `results` only where their text lies."""
        new = {digest: data for digest, data in parts.items() if digest not in self._known}
        if new:
            lines = [
                orjson.dumps({"sha256": digest, "result": results[digest]}) + b"\n"
                if digest in results
                else body_line(digest, data)
                for digest, data in new.items()
            ]
            write_whole(self._file, b"".join(lines))
            self._known.update(new)

    def close(self) -> None:
        """Flush to the disk."""
        os.fsync(self._file)
        os.close(self._file)


def cut_torn_line(descriptor: int) -> None:
    """Take away a last line that was cut off, so that what is appended begins a line.

    The file must be open for reading, too.
    """
    end = os.fstat(descriptor).st_size
    at = end
    while at > 0:
        start = max(0, at - _BLOCK)
        found = os.pread(descriptor, at - start, start).rfind(b"\n")
        if found >= 0:
            at = start + found + 1
            break
        at = start
    if at < end:
        os.ftruncate(descriptor, at)


def _read(path: Path, start: int, length: int) -> bytes:
    with open_regular(path) as file:
        file.seek(start)
        return file.read(length)


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`, in one call unless the kernel takes less."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
