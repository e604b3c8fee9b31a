"""Output of commands as bytes with arrival times, kept up to a cap and counted beyond it."""

import array
import fcntl
import os
import selectors
import termios
import threading
import time
from collections.abc import Iterator
from io import FileIO
from typing import Literal

from sandbox.protocol import Chunk, Ending, ExecResult

Stream = Literal["stdout", "stderr"]
READ_BYTES = 64 * 1024


class OutputCap:
    """How much of one stream is kept; the rest is only counted."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.dropped = 0

    @property
    def full(self) -> bool:
        return self._left == 0

    def keep(self, data: bytes) -> bytes:
        """The part of `data` that is still within the cap, possibly empty."""
        kept = data[: self._left]
        self._left -= len(kept)
        self.dropped += len(data) - len(kept)
        return kept


class PipeExecution:
    """An `Execution` whose output arrives on two pipes and whose end another thread reports.

    Takes ownership of the two read ends. It ends when its process has ended: what is in the pipes then is
    still delivered, but a grandchild that holds them open is not waited for. Threads that iterate at the same
    time share the output.
    """

    def __init__(self, stdout: FileIO, stderr: FileIO, output_bytes: int) -> None:
        self.started = time.monotonic()
        self._pipes: dict[Stream, FileIO] = {"stdout": stdout, "stderr": stderr}
        self._caps: dict[Stream, OutputCap] = {name: OutputCap(output_bytes) for name in self._pipes}
        for pipe in self._pipes.values():
            os.set_blocking(pipe.fileno(), False)
        end_reader, end_writer = os.pipe()
        self._end_reader, self._end_writer = FileIO(end_reader), FileIO(end_writer, "w")
        self._lock = threading.Lock()
        self._ended: tuple[Ending, int | None, float] | None = None
        self._sink = bytearray(READ_BYTES)
        self._reading = threading.Lock()

    def finish(self, ending: Ending, exit_code: int | None) -> None:
        """Report the end, from any thread; the first report counts."""
        with self._lock:
            if self._ended is None:
                self._ended = (ending, exit_code, time.monotonic() - self.started)
                self._end_writer.close()

    @property
    def finished(self) -> bool:
        """Whether the end was reported; output may still be waiting to be read."""
        return self._ended is not None

    def __iter__(self) -> Iterator[Chunk]:
        if not self.finished:
            yield from self._until_end()
        for name in list(self._pipes):
            yield from self._rest(name)
        self._end_reader.close()

    def result(self) -> ExecResult:
        for _ in self:
            pass
        assert self._ended is not None
        ending, exit_code, seconds = self._ended
        dropped = {str(name): cap.dropped for name, cap in self._caps.items()}
        return ExecResult(ending, exit_code, seconds, dropped)

    def _until_end(self) -> Iterator[Chunk]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._end_reader, selectors.EVENT_READ)
            for name, pipe in list(self._pipes.items()):
                selector.register(pipe, selectors.EVENT_READ, name)
            while not self.finished:
                for key, _ in selector.select():
                    if key.data is None:
                        continue
                    size, chunk = self._read(key.data, READ_BYTES)
                    if chunk:
                        yield chunk
                    if size == 0:
                        selector.unregister(key.fileobj)
                        self._close(key.data)

    def _rest(self, name: Stream) -> Iterator[Chunk]:
        """What lies in the pipe now; not more, or a flooding grandchild would keep us here."""
        left = self._waiting(name)
        while left > 0:
            size, chunk = self._read(name, left)
            if chunk:
                yield chunk
            if not size:
                break
            left -= size
        self._close(name)

    def _waiting(self, name: Stream) -> int:
        size = array.array("i", [0])
        with self._reading:
            if name in self._pipes:
                fcntl.ioctl(self._pipes[name], termios.FIONREAD, size)
        return size[0]

    def _read(self, name: Stream, limit: int) -> tuple[int | None, Chunk | None]:
        """Read once: the bytes taken from the pipe (0 at its end, None if it had none) and what is kept."""
        with self._reading:
            if name not in self._pipes:
                return 0, None
            pipe, cap = self._pipes[name], self._caps[name]
            if cap.full:
                size: int | None = pipe.readinto(self._sink)
                cap.dropped += size or 0
                return size, None
            data: bytes | None = pipe.read(min(limit, READ_BYTES))
            if data is None:
                return None, None
            kept = cap.keep(data)
            return len(data), Chunk(name, kept, time.monotonic()) if kept else None

    def _close(self, name: Stream) -> None:
        with self._reading:
            pipe = self._pipes.pop(name, None)
            if pipe is not None:
                pipe.close()
