"""Two (or more) processes that work on the lines of one file, and end with us, however we end."""

import multiprocessing
import signal
import traceback
from collections.abc import Iterable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess, parent_process
from pathlib import Path
from types import TracebackType
from typing import Protocol

from .allocator import keep_freed_memory
from .errors import DataError, StoreError
from .files import explained
from .line_worker import LineWorker, Result, Task
from .store import Store

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

    The processes are spawned, so a script that imports must have its `if __name__ == "__main__"` guard.
    """

    def __init__(self, path: Path, store: Path, data_root: Path, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._members: dict[Connection, BaseProcess] = {}
        for _ in range(count):
            ours, theirs = context.Pipe()
            member = context.Process(target=_serve, args=(theirs, path, store, data_root), daemon=True)
            member.start()
            theirs.close()
            self._members[ours] = member

    def __enter__(self) -> "Processes":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._members:
            connection.close()
        for member in self._members.values():
            # Finished members leave by themselves; after an error nobody waits for the line in hand.
            member.join(timeout=10 if kind is None else 1)
            if member.is_alive():
                member.kill()
                member.join()
            member.close()

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
                    failed.append((task.line.number, answer))
                    continue
                if not failed:
                    self._hand_out(ready, held, todo)
                yield task, answer
        if failed:
            raise min(failed, key=lambda pair: pair[0])[1]

    def _hand_out(self, connection: Connection, held: list[Task], todo: Iterator[Task]) -> None:
        task = next(todo, None)
        if task is not None:
            connection.send(task)
            held.append(task)

    def _receive(self, connection: Connection) -> Result | Exception:
        try:
            answer: Result | Exception = connection.recv()
        except EOFError:
            raise StoreError(
                "a process of the import was killed (out of memory?); run the same import again"
            ) from None
        return answer


def _serve(connection: Connection, path: Path, store: Path, data_root: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C, and closes the connection
    keep_freed_memory()
    parent = parent_process()
    assert parent is not None
    with Store.open(store).writer(data_root) as writer, closing(LineWorker(path, writer)) as worker:
        while connection in wait([connection, parent.sentinel]):
            try:
                task = connection.recv()
            except EOFError:
                return
            try:
                connection.send(_answer(worker, task, store))
            except BrokenPipeError:
                return


def _answer(worker: LineWorker, task: Task, store: Path) -> Result | Exception:
    try:
        return worker.do(task)
    except (DataError, StoreError) as error:
        return error
    except OSError as error:
        return explained(error, f"cannot write to the store {store}")
    except Exception:  # a defect of ours must reach the user whole, from whatever process it happens in
        return RuntimeError(f"line {task.line.number}: {traceback.format_exc()}")
