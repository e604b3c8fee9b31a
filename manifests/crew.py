"""Two (or more) processes that work on the lines of one file, and end with us, however we end."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Protocol

from .errors import StoreError
from .line_worker import LineWorker, Result, Task

_SERVE = "from manifests.crew_member import serve; serve()"
_AHEAD = 4  # tasks a process has in hand, so that it never waits for the next one


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
        self._members: dict[Connection, subprocess.Popen[bytes]] = {}
        for _ in range(count):
            ours, theirs = Pipe()
            with theirs:
                number = str(theirs.fileno())
                self._members[ours] = subprocess.Popen(
                    [sys.executable, "-c", _SERVE, number, path, store, data_root],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                    process_group=0,
                )

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._members:
            connection.close()
        for member in self._members.values():
            # Finished members leave by themselves; after an error nobody waits for the line in hand.
            try:
                member.wait(timeout=10 if kind is None else 1)
            except subprocess.TimeoutExpired:
                member.kill()
                member.wait()

    def do(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        todo = iter(tasks)
        in_hand: dict[Connection, list[Task]] = {connection: [] for connection in self._members}
        failed: list[tuple[int, Exception]] = []
        for _ in range(_AHEAD):
            for connection, held in in_hand.items():
                self._hand_out(connection, held, todo)
        while any(in_hand.values()):
            for ready in wait([c for c, held in in_hand.items() if held]):
                assert isinstance(ready, Connection)
                held = in_hand[ready]
                answer = self._receive(ready)
                task = held.pop(0)
                if isinstance(answer, Exception):
                    failed.append((task.offset, answer))
                    continue
                if not failed:
                    self._hand_out(ready, held, todo)
                yield task, answer
        if failed:
            raise min(failed, key=lambda pair: pair[0])[1]

    def _hand_out(self, connection: Connection, held: list[Task], todo: Iterator[Task]) -> None:
        task = next(todo, None)
        if task is not None:
            try:
                connection.send(task)
            except BrokenPipeError:
                raise _killed() from None
            held.append(task)

    def _receive(self, connection: Connection) -> Result | Exception:
        try:
            answer: Result | Exception = connection.recv()
        except (EOFError, ConnectionResetError):
            raise _killed() from None
        return answer


def _killed() -> StoreError:
    return StoreError("a process of the import was killed (out of memory?); run the same import again")
