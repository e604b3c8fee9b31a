"""Recordings of a run's exchanges: one file, from which the run can be answered without a network.

The first line tells the format's version. All others are either parts of bodies, as in `model_bodies.jsonl`,
or recorded exchanges (`Recorded`), which name them. The attempt's volatile strings are replaced by
placeholders in requests and answers alike.
"""

import fcntl
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runbook.gateway.bodies import body_line, data_of, write_whole
from runbook.gateway.exchange import Exchange
from runbook.gateway.parts import Splitter, digest_of, join
from runbook.gateway.settings import GatewayError
from runbook.outcomes import Outcome

VERSION = 1


class Recorded(BaseModel):
    """One exchange of a recording. Times are seconds from its request."""

    model_config = ConfigDict(extra="forbid")

    key: str
    method: str
    path: str
    request: str
    """Root part of the normalised request."""
    status: int | None = Field(ge=100, le=999)
    headers: list[
        tuple[
            Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9a-z-]+$")],
            Annotated[str, Field(pattern=r"^[\t\x20-\x7e\x80-\xff]*$")],
        ]
    ]
    body: str | None
    """The part that holds the answer's bytes, placeholders included."""
    cuts: list[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], Annotated[int, Field(ge=0)]]]
    """When each chunk was passed on, and its length in `body`."""
    ended_at: float | None
    outcome: Outcome | None
    detail: str
    broken: bool
    gone: bool
    """The agent left before the answer ended."""
    retries: int
    rate_limit_seconds: float


class CassetteWriter:
    """Appends exchanges to a recording. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Continues a recording that is there already, without a last line that was cut off.

        Raises:
            GatewayError: the file cannot be written, is no recording, or is damaged.
        """
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GatewayError(f"{path} cannot be recorded to: {error}") from None
        try:
            self._known = self._continue(path)
        except BaseException:
            os.close(self._file)
            raise

    def _continue(self, path: Path) -> set[str]:
        """Make the file's end one of a line; returns the parts that it holds.

        A line that another living run has not ended yet is no torn one: each run holds a shared lock.
        """
        alone = True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            alone = False
            fcntl.flock(self._file, fcntl.LOCK_SH)
        earlier = CassetteReader(path)
        if alone:
            os.ftruncate(self._file, earlier.size)
            if earlier.size == 0:
                write_whole(self._file, orjson.dumps({"cassette": VERSION}) + b"\n")
            fcntl.flock(self._file, fcntl.LOCK_SH)
        return set(earlier.digests())

    def add(
        self,
        exchange: Exchange,
        key: str,
        plain_request: Any,
        volatile: Sequence[str],
        splitter: Splitter,
        *,
        gone: bool,
    ) -> None:
        """Append an exchange that is over; `splitter` is the one of its attempt.

        Args:
            gone: the agent left before it had the whole answer.
        """
        root, parts = splitter.split(plain_request)
        chunks = [hide(chunk, volatile) for chunk in exchange.chunks]
        body = b"".join(chunks)
        if body:
            parts[digest_of(body)] = body
        recorded = Recorded(
            key=key,
            method=exchange.method,
            path=exchange.path_and_query,
            request=root,
            status=exchange.status,
            headers=[
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in exchange.answer_headers
            ],
            body=digest_of(body) if body else None,
            cuts=[(time, len(chunk)) for time, chunk in zip(exchange.stamps, chunks, strict=True)],
            ended_at=exchange.ended_at,
            outcome=exchange.outcome,
            detail=exchange.detail,
            broken=exchange.broken,
            gone=gone,
            retries=exchange.retries,
            rate_limit_seconds=exchange.rate_limit_seconds,
        )
        new = {digest: data for digest, data in parts.items() if digest not in self._known}
        lines = [body_line(digest, data) for digest, data in new.items()]
        write_whole(self._file, b"".join([*lines, recorded.model_dump_json().encode() + b"\n"]))
        self._known.update(new)

    def close(self) -> None:
        """Flush to the disk."""
        os.fsync(self._file)
        os.close(self._file)


class CassetteReader:
    """A recording, checked as a whole; only places in the file and keys are held in memory."""

    def __init__(self, path: Path) -> None:
        """Passes over a last line that was cut off.

        Raises:
            GatewayError: the file cannot be read, is no recording, or is damaged; the message names the line.
        """
        self._path = path
        self._parts: dict[str, tuple[int, int]] = {}
        self._sizes: dict[str, int] = {}
        self._exchanges: list[tuple[int, int]] = []
        self._by_key: dict[str, list[int]] = {}
        self.size = 0
        """Bytes of the file up to the end of its last whole line."""
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        self._index(number, line, (self.size, len(line)))
                        self.size += len(line)
        except OSError as error:
            raise GatewayError(f"the recording {path} cannot be read: {error}") from None

    def _index(self, number: int, line: bytes, place: tuple[int, int]) -> None:
        where = f"{self._path}:{number}"
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            value = None
        match value:
            case {"cassette": int(version)} if number == 1:
                if version != VERSION:
                    raise GatewayError(
                        f"{where} tells format {version} of a recording; this version reads {VERSION}"
                    )
            case {"sha256": str(digest)} if number > 1:
                self._sizes[digest] = self._checked_part(where, value, digest)
                self._parts[digest] = place
            case {"key": str(key)} if number > 1:
                self._check_exchange(where, value)
                self._by_key.setdefault(key, []).append(len(self._exchanges))
                self._exchanges.append(place)
            case _:
                raise GatewayError(f"{where} is no line of a recording")

    def _checked_part(self, where: str, line: Mapping[str, str], digest: str) -> int:
        """The size of a part that is what its name says."""
        try:
            data = data_of(line)
        except (KeyError, TypeError, ValueError, AttributeError, zlib.error):
            data = None
        if data is None or digest_of(data) != digest:
            raise _damaged(where, "its text does not fit its sha256")
        return len(data)

    def _check_exchange(self, where: str, line: Any) -> None:
        try:
            recorded = Recorded.model_validate_json(orjson.dumps(line))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise _damaged(where, f"{place}: {first['msg']}") from None
        for digest in filter(None, (recorded.request, recorded.body)):
            if digest not in self._sizes:
                raise _damaged(where, f"it names the part {digest:.16}, which no line before it holds")
        body = self._sizes[recorded.body] if recorded.body else 0
        if sum(length for _, length in recorded.cuts) != body:
            raise _damaged(where, "its cuts do not add up to its answer")

    def digests(self) -> Iterator[str]:
        """Names of all parts."""
        return iter(self._parts)

    def numbers(self, key: str) -> list[int]:
        """The recorded exchanges with a key, in recorded order, counted from 0."""
        return self._by_key.get(key, [])

    def __len__(self) -> int:
        return len(self._exchanges)

    def exchange(self, number: int) -> Recorded:
        """One recorded exchange."""
        return Recorded.model_validate_json(self._line(self._exchanges[number]))

    def request(self, recorded: Recorded) -> Any:
        """The normalised request of an exchange. Raises GatewayError where a part of it is missing."""
        try:
            return join(recorded.request, self._part)
        except (KeyError, TypeError, ValueError):
            raise GatewayError(f"the recording {self._path} lacks parts of a request") from None

    def chunks(self, recorded: Recorded, volatile: Sequence[str]) -> list[bytes]:
        """The answer's chunks, with this attempt's strings in place of the recorded ones."""
        body = self._part(recorded.body) if recorded.body else b""
        chunks, start = [], 0
        for _, length in recorded.cuts:
            chunks.append(reveal(body[start : start + length], volatile))
            start += length
        return chunks

    def _part(self, digest: str) -> bytes:
        return data_of(orjson.loads(self._line(self._parts[digest])))

    def _line(self, place: tuple[int, int]) -> bytes:
        with self._path.open("rb") as file:
            file.seek(place[0])
            return file.read(place[1])


def _damaged(where: str, why: str) -> GatewayError:
    return GatewayError(f"{where} of the recording is damaged: {why}; restore the file or record anew")


def hide(chunk: bytes, volatile: Sequence[str]) -> bytes:
    """An answer's bytes with placeholders for volatile strings. NUL never occurs in JSON text."""
    for number, string in sorted(enumerate(volatile), key=lambda item: -len(item[1])):
        if string:
            chunk = chunk.replace(string.encode(), b"\0%d\0" % number)
    return chunk


def reveal(chunk: bytes, volatile: Sequence[str]) -> bytes:
    """The reverse of `hide`, with the strings of another attempt."""
    for number, string in enumerate(volatile):
        chunk = chunk.replace(b"\0%d\0" % number, string.encode())
    return chunk
