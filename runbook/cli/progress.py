"""Progress of a run: a live bar on a terminal, plain lines elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from runbook.cli.pace import Pace
from runbook.cli.tables import counted
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from evals.runs.execute import Progress as RunProgress

LINE_SECONDS = 5.0  # between plain lines, at least
STILL_SECONDS = 30.0  # after which a plain line comes although nothing ended


def _nothing() -> str:
    return ""


@contextmanager
def run_progress(
    console: Console,
    total: int,
    what: str = "question",
    *,
    at_work: Callable[[], str] = _nothing,
    still_seconds: float = STILL_SECONDS,
) -> Iterator[Callable[["RunProgress"], None]]:
    """Yields the function to call after each question, or each answer of an arm.

    `at_work` tells what is waited for.
    """
    if console.is_terminal:
        with _bar(console, total, what, at_work) as update:
            yield update
    else:
        with _lines(console, total, what, at_work, still_seconds) as update:
            yield update


@contextmanager
def counting(
    console: Console, what: str, *, still_seconds: float = STILL_SECONDS
) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of (done, total) that shows a bar on a terminal and plain lines elsewhere.

    What is done within seconds says nothing in plain lines.
    """
    if console.is_terminal:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    counted_so_far = ""

    def update(done: int, total: int) -> None:
        nonlocal counted_so_far
        counted_so_far = f" {done}/{total}"
        plain.after(LINE_SECONDS)

    with _PlainLines(console, lambda: f"{what}{counted_so_far}", still_seconds) as plain:
        yield update


class _AtWork(ProgressColumn):
    """What is waited for, as of now."""

    def __init__(self, at_work: Callable[[], str]) -> None:
        super().__init__()
        self._at_work = at_work

    def render(self, task: Task) -> Text:  # noqa: ARG002 - of rich
        return Text(_with(self._at_work()))


@contextmanager
def _bar(
    console: Console, total: int, what: str, at_work: Callable[[], str]
) -> Iterator[Callable[["RunProgress"], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        _AtWork(at_work),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"{what}s", total=total, pace="")
        pace = Pace(total, time.monotonic())

        def update(progress: "RunProgress") -> None:
            pace.note(progress.done, time.monotonic())
            bar.update(task, completed=progress.done, pace=pace.told())
            if line := trouble(progress):
                bar.console.print(inert(line), markup=False, highlight=False)

        yield update


@contextmanager
def _lines(
    console: Console, total: int, what: str, at_work: Callable[[], str], still_seconds: float
) -> Iterator[Callable[["RunProgress"], None]]:
    done = 0
    pace = Pace(total, time.monotonic())

    def line() -> str:
        now = _with(at_work())
        return f"{done}/{counted(total, what)}, {pace.told()}" + (f"; {now}" if now else "")

    def update(progress: "RunProgress") -> None:
        nonlocal done
        if told := trouble(progress):
            console.print(inert(told), markup=False, highlight=False, soft_wrap=True)
        done = progress.done
        pace.note(done, time.monotonic())
        plain.after(LINE_SECONDS if done < total else 0.0)

    with _PlainLines(console, line, still_seconds) as plain:
        yield update


def _with(at_work: str) -> str:
    return f"at work: {at_work}" if at_work else ""


class _PlainLines:
    """Prints a line now and then, also while nothing happens."""

    def __init__(self, console: Console, line: Callable[[], str], still_seconds: float) -> None:
        self._console = console
        self._line = line
        self._still_seconds = still_seconds
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "_PlainLines":
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def after(self, seconds: float) -> None:
        """Print the line unless the last one is younger."""
        with self._lock:
            now = time.monotonic()
            if now - self._last >= seconds:
                self._last = now
                self._console.print(self._line(), markup=False, highlight=False, soft_wrap=True)

    def _look(self) -> None:
        while not self._ended.wait(self._still_seconds / 10):
            self.after(self._still_seconds)


def trouble(progress: "RunProgress") -> str:
    """One line about a question that did not go well; empty where it did."""
    worst = progress.result.worst
    if worst.query is not None and worst.query.outcome != "ok":
        last = worst.query.result.attempts[-1] if worst.query.result.attempts else None
        return f"{progress.question.id}: {worst.query.outcome}" + (
            f": {last.detail}" if last and last.detail else ""
        )
    for record in (worst.reading, worst.verdict):
        if record is not None and record.outcome != "ok":
            return f"{progress.question.id}: {record.outcome}: {record.detail}"
    return ""
