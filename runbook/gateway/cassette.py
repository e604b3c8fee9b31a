"""Recordings of a run's exchanges: one file, from which the run can be answered without a network.

Lines are either parts of bodies, as in `model_bodies.jsonl`, or recorded exchanges (`Recorded`), which name
them. The attempt's volatile strings are replaced by placeholders in requests and answers alike.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from runbook.gateway.bodies import body_line, data_of, write_whole
from runbook.gateway.exchange import Exchange
from runbook.gateway.parts import Splitter, digest_of, join
from runbook.gateway.settings import GatewayError
from runbook.outcomes import Outcome


class Recorded(BaseModel):
    """One exchange of a recording. Times are seconds from its request."""

    model_config = ConfigDict(extra="forbid")

    key: str
    method: str
    path: str
    request: str
    """Root part of the normalised request."""
    status: int | None
    headers: list[tuple[str, str]]
    body: str | None
    """The part that holds the answer's bytes, placeholders included."""
    cuts: list[tuple[float, int]]
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
        """Raises GatewayError where the file cannot be written or is no recording."""
        known = set(CassetteReader(path).digests()) if path.exists() else set[str]()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GatewayError(f"{path} cannot be recorded to: {error}") from None
        self._known = known

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
    """A recording; only places in the file and keys are held in memory."""

    def __init__(self, path: Path) -> None:
        """Raises GatewayError where the file cannot be read or is no recording."""
        self._path = path
        self._parts: dict[str, tuple[int, int]] = {}
        self._exchanges: list[tuple[int, int]] = []
        self._by_key: dict[str, list[int]] = {}
        start = 0
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        self._index(number, orjson.loads(line), (start, len(line)))
                    start += len(line)
        except OSError as error:
            raise GatewayError(f"the recording {path} cannot be read: {error}") from None
        except orjson.JSONDecodeError:
            raise GatewayError(f"{path}:{number} is no line of a recording") from None

    def _index(self, number: int, line: Any, place: tuple[int, int]) -> None:
        match line:
            case {"sha256": str(digest)}:
                self._parts[digest] = place
            case {"key": str(key)}:
                self._by_key.setdefault(key, []).append(len(self._exchanges))
                self._exchanges.append(place)
            case _:
                raise GatewayError(f"{self._path}:{number} is no line of a recording")

    def digests(self) -> Iterator[str]:
        """Names of all parts."""
        return iter(self._parts)

    def numbers(self, key: str) -> list[int]:
        """The recorded exchanges with a key, in recorded order, counted from 0."""
        return self._by_key.get(key, [])

    def __len__(self) -> int:
        return len(self._exchanges)

    def exchange(self, number: int) -> Recorded:
        """One recorded exchange. Raises GatewayError where its line is damaged."""
        try:
            return Recorded.model_validate_json(self._line(self._exchanges[number]))
        except ValidationError as error:
            raise GatewayError(f"{self._path}: exchange {number + 1} is damaged: {error}") from None

    def request(self, recorded: Recorded) -> Any:
        """The normalised request of an exchange."""
        return join(recorded.request, self._part)

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
