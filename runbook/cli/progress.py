"""Progress of a run: a live bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from runbook.cli.pace import Pace
from runbook.cli.tables import counted
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from evals.runs.execute import Progress as RunProgress

LINE_SECONDS = 5.0


@contextmanager
def run_progress(
    console: Console, total: int, what: str = "question"
) -> Iterator[Callable[["RunProgress"], None]]:
    """Yields the function to call after each question, or each answer of an arm."""
    if console.is_terminal:
        with _bar(console, total, what) as update:
            yield update
    else:
        yield _lines(console, total, what)


@contextmanager
def counting(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of (done, total) that shows a bar on a terminal and nothing elsewhere."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _bar(console: Console, total: int, what: str) -> Iterator[Callable[["RunProgress"], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
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


def _lines(console: Console, total: int, what: str) -> Callable[["RunProgress"], None]:
    last = time.monotonic()
    pace = Pace(total, last)

    def update(progress: "RunProgress") -> None:
        nonlocal last
        if line := trouble(progress):
            console.print(inert(line), markup=False, highlight=False, soft_wrap=True)
        now = time.monotonic()
        pace.note(progress.done, now)
        if now - last < LINE_SECONDS and progress.done < total:
            return
        last = now
        console.print(f"{progress.done}/{counted(total, what)}, {pace.told()}", highlight=False)

    return update


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
