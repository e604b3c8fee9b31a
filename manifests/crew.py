"""Two (or more) processes that work on the lines of one file, and end with us, however we end."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from select import POLLIN, poll
from types import TracebackType
from typing import Final, Protocol

from .channel import Channel
from .errors import StoreError
from .line_worker import LineWorker, Result, Task

_SERVE = "from manifests.crew_member import serve; serve()"
_AHEAD = 4  # tasks a process has in hand, so that it never waits for the next one
# For the C library: a process keeps what it frees, instead of asking for the same megabytes for each line.
_KEEP_MEMORY: Final = {f"MALLOC_{what}_THRESHOLD_": str(2**28) for what in ("MMAP", "TRIM")}


class Crew(Protocol):
    """Whoever does tasks."""

    def do(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Do all tasks, in any order. Raises the error of the earliest line that has one."""


class Alone:
    """Does the tasks in this process."""

    def __init__(self, worker: LineWorker) -> None:
        self._worker = worker

    def do(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        for task in tasks:
            yield task, self._worker.do(task)


class Processes:
    """Does the tasks in `count` processes of its own, which end when this one does, also by kill -9.

    They are plain children at the other end of a socket, not `multiprocessing` ones: those would run the
    caller's main module again. A process group of their own keeps Ctrl-C from them; they leave when the
    socket closes.
    """

    def __init__(self, path: Path, store: Path, data_root: Path, count: int) -> None:
        self._members = [_Member(path, store, data_root) for _ in range(count)]

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._members:
            member.channel.close()
        for member in self._members:
            # Finished members leave by themselves; after an error nobody waits for the line in hand.
            member.end(10 if kind is None else 1)

    def do(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        todo = iter(tasks)
        failed: list[tuple[int, Exception]] = []
        for _ in range(_AHEAD):
            for member in self._members:
                member.take(todo)
        answering = poll()
        busy = {member.channel.fileno(): member for member in self._members if member.held}
        for fd in busy:
            answering.register(fd, POLLIN)
        while busy:
            for fd, _ in answering.poll():
                member = busy[fd]
                task, answer = member.give()
                if isinstance(answer, Exception):
                    failed.append((task.offset, answer))
                elif not failed:
                    member.take(todo)
                if not member.held:
                    answering.unregister(fd)
                    del busy[fd]
                if not isinstance(answer, Exception):
                    yield task, answer
        if failed:
            raise min(failed, key=lambda pair: pair[0])[1]


class _Member:
    """A process of the crew, and the tasks it has in hand, in the order in which it does them."""

    def __init__(self, path: Path, store: Path, data_root: Path) -> None:
        self.held: list[Task] = []
        ours, theirs = socket.socketpair()
        with ours, theirs:
            number = str(theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVE, number, path, store, data_root],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **_KEEP_MEMORY},
                process_group=0,
            )
            self.channel = Channel(ours.detach())

    def take(self, todo: Iterator[Task]) -> None:
        """Hand the next task to the process, if there is one."""
        task = next(todo, None)
        if task is not None:
            try:
                self.channel.send(task)
            except (BrokenPipeError, ConnectionResetError):
                raise _killed() from None
            self.held.append(task)

    def give(self) -> tuple[Task, Result | Exception]:
        """The first task in hand and what came of it."""
        try:
            answer: Result | Exception = self.channel.receive()
        except (EOFError, ConnectionResetError):
            raise _killed() from None
        return self.held.pop(0), answer

    def end(self, seconds: float) -> None:
        """Wait for the process, which the closed channel tells to leave; end it after so many seconds."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _killed() -> StoreError:
    return StoreError("a process of the import was killed (out of memory?); run the same import again")
