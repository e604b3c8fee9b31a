"""One command in a container: its output read from the engine's attach connection as it arrives.

The engine frames both streams into one connection. It is read and taken apart here, because the SDK gathers
everything in memory first, which takes half a minute for 50 MB.
"""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from docker import APIClient
from docker.errors import DockerException

from sandbox.output import OutputCap
from sandbox.protocol import Chunk, Ending, ExecResult

Stream = Literal["stdout", "stderr"]

# What a call to the engine may raise: its own answers, and troubles of the connection (OSErrors of requests).
ENGINE_ERRORS = (DockerException, OSError)

_STREAMS: dict[int, Stream] = {1: "stdout", 2: "stderr"}
_HEADER_BYTES = 8
# Killed, or not to be run: what the engine says of a command also when the container ended under it.
_DOUBTFUL = (137, 126)
_READ_BYTES = 256 * 1024
_IDLE_SECONDS = 0.5  # how often a quiet connection looks whether its sandbox is still there
_FEEDING_SECONDS = 0.01  # the same while stdin is being given
_GRACE_SECONDS = 2.0  # for output on its way when the sandbox is dead


class Demultiplexer:
    """Takes the engine's frames apart, whatever pieces they arrive in."""

    def __init__(self) -> None:
        self._header = b""
        self._stream: Stream = "stdout"
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[Stream, bytes]]:
        """Yield (stream, bytes) for what `data` adds; an incomplete frame yields what is there of it."""
        position = 0
        while position < len(data):
            if self._left == 0:
                needed = _HEADER_BYTES - len(self._header)
                self._header += data[position : position + needed]
                position += needed
                if len(self._header) == _HEADER_BYTES:
                    self._stream = _STREAMS.get(self._header[0], "stdout")
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._header = b""
                continue
            piece = data[position : position + self._left]
            position += len(piece)
            self._left -= len(piece)
            yield self._stream, piece


class Connection:
    """The hijacked connection of one exec: output comes in, stdin goes out, half of it can be closed."""

    def __init__(self, api: APIClient, exec_id: str) -> None:
        raw: Any = api.exec_start(exec_id, socket=True)
        self._response = raw._response
        buffered = self._response.raw._fp.fp
        self._socket: socket.socket = getattr(buffered.raw, "_sock", None) or raw
        # What came in one piece with the HTTP header lies in the buffer of the HTTP client.
        self._socket.settimeout(0)
        self._early = bytes(buffered.read1(len(buffered.peek())) if buffered.peek() else b"")

    def receive(self, seconds: float) -> bytes | None:
        """What arrives within `seconds`: b"" at the end of the stream, None if nothing did."""
        if self._early:
            early, self._early = self._early, b""
            return early
        self._socket.settimeout(seconds)
        try:
            return self._socket.recv(_READ_BYTES)
        except TimeoutError:
            return None
        except OSError:
            return b""

    def send(self, data: memoryview) -> int:
        """Send what fits without waiting; the number of bytes sent. -1 when nobody reads any more."""
        self._socket.settimeout(0)
        try:
            return self._socket.send(data)
        except (BlockingIOError, TimeoutError):
            return 0
        except OSError:
            return -1

    def close_stdin(self) -> None:
        """Deliver end of file to the command; its output goes on."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def close(self) -> None:
        self._response.close()
        self._socket.close()


class Host(Protocol):
    """What an execution needs to know of its sandbox."""

    @property
    def ending(self) -> Ending | None:
        """Why the sandbox was killed, once that was decided."""
        ...

    @property
    def over_since(self) -> float | None:
        """`time.monotonic()` when the kill was done with."""
        ...

    def survives(self) -> bool:
        """Whether the container outlives a command that ended just now."""
        ...

    def finished(self, execution: "DockerExecution", exit_code: int | None) -> None:
        """Called once, at the end of the execution; without an exit code the sandbox had ended."""
        ...


class DockerExecution:
    """An `Execution` that reads in the thread that iterates it; several threads share the output."""

    def __init__(self, host: Host, api: APIClient, exec_id: str, stdin: bytes, output_bytes: int) -> None:
        self._host = host
        self._api = api
        self._exec_id = exec_id
        self._started = time.monotonic()
        self._caps: dict[Stream, OutputCap] = {name: OutputCap(output_bytes) for name in _STREAMS.values()}
        self._frames = Demultiplexer()
        self._result: ExecResult | None = None
        self._reading = threading.Lock()
        self._connection = Connection(api, exec_id)
        self._stdin = memoryview(stdin)
        if stdin:
            self._feed()

    def __iter__(self) -> Iterator[Chunk]:
        while self._result is None:
            yield from self._step()

    def result(self) -> ExecResult:
        for _ in self:
            pass
        assert self._result is not None
        return self._result

    def _step(self) -> list[Chunk]:
        """Read once, and finish at the end; under the lock, so that threads cannot tear a frame apart."""
        with self._reading:
            if self._result is not None:
                return []
            data = self._connection.receive(_FEEDING_SECONDS if self._stdin else _IDLE_SECONDS)
            at = time.monotonic()
            if self._stdin:
                self._feed()
            if not data and (data is not None or self._host_is_long_over(at)):
                self._finish()
            pieces = [
                (stream, self._caps[stream].keep(piece)) for stream, piece in self._frames.feed(data or b"")
            ]
            return [Chunk(stream, kept, at) for stream, kept in pieces if kept]

    def _feed(self) -> None:
        sent = self._connection.send(self._stdin)
        self._stdin = self._stdin[sent:] if sent >= 0 else self._stdin[:0]
        if not self._stdin:
            self._connection.close_stdin()

    def _host_is_long_over(self, now: float) -> bool:
        over_since = self._host.over_since
        return over_since is not None and now - over_since > _GRACE_SECONDS

    def _finish(self) -> None:
        self._connection.close()
        exit_code = self._exit_code()
        ending = Ending.EXITED if exit_code is not None else self._host.ending or Ending.LOST
        dropped = {str(name): cap.dropped for name, cap in self._caps.items()}
        self._result = ExecResult(ending, exit_code, time.monotonic() - self._started, dropped)
        self._host.finished(self, exit_code)

    def _exit_code(self) -> int | None:
        """Wait for the command's exit code; None if the sandbox ended first."""
        pause = 0.01
        while self._host.ending is None:
            try:
                state = self._api.exec_inspect(self._exec_id)
            except ENGINE_ERRORS:
                return None
            if not state["Running"] and state["ExitCode"] is not None:
                code = int(state["ExitCode"])
                return code if code not in _DOUBTFUL or self._host.survives() else None
            time.sleep(pause)
            pause = min(pause * 2, 0.2)
        return None
