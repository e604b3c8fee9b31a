"""`runbook watch`: a run while it is under way. It only reads files, so it can start and stop at any time."""

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runbook.cli.tables import counted
from runbook.cli.terminal import inert, terminal

if TYPE_CHECKING:
    from evals.live import Failure, LiveRun, RunningAttempt, Snapshot

_SHOWN_FAILURES = 6
_MOST_RUNNING = 16
_LINE_SECONDS = 15.0


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    interval: Annotated[float, typer.Option(min=0.2, max=3600, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
) -> None:
    """Watch a run while it is under way.

    What its agents do now, how fast it goes, what it has cost, and what fails.
    """
    from evals.live import LiveRun

    live = LiveRun(run)
    console = terminal()
    try:
        if console.is_terminal and not once:
            _show(console, live, interval)
        else:
            _tell(console, live, interval, once=once)
    except KeyboardInterrupt:
        return


def _show(console: Console, live: "LiveRun", interval: float) -> None:
    """A picture that is drawn anew at every look."""
    failures: deque[Failure] = deque(maxlen=_SHOWN_FAILURES)
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as picture:
        while True:
            snapshot = live.look()
            failures.extend(snapshot.new_failures)
            picture.update(_picture(live, snapshot, failures, console.width), refresh=True)
            if _is_over(snapshot):
                return
            time.sleep(interval)


def _tell(console: Console, live: "LiveRun", interval: float, *, once: bool) -> None:
    """A line when something has changed, at most every few seconds; failures at once."""
    said, at = "", float("-inf")
    while True:
        snapshot = live.look()
        for failure in snapshot.new_failures:
            console.print(_failure(failure))
        over = once or _is_over(snapshot)
        line = _line(snapshot)
        if over or (line != said and time.monotonic() - at >= _LINE_SECONDS):
            said, at = line, time.monotonic()
            console.print(line)
        if once:
            for one in snapshot.running:
                console.print(f"  {_words(one)}")
        if over:
            console.print(_ending(snapshot))
            return
        time.sleep(interval)


def _is_over(snapshot: "Snapshot") -> bool:
    return snapshot.working is False or (
        snapshot.working is None and snapshot.finished == snapshot.questions and not snapshot.running
    )


def _ending(snapshot: "Snapshot") -> str:
    if snapshot.finished == snapshot.questions:
        return "finished"
    if snapshot.working is False:
        return "nobody is working on it: `runbook eval resume` goes on"
    return "still running"


def _picture(live: "LiveRun", snapshot: "Snapshot", failures: "deque[Failure]", width: int) -> Group:
    parts: list[Text | Table] = [
        Text.assemble((inert(live.folder.name), "bold"), f"  {inert(live.record.config.agent)}"),
        Text(_line(snapshot)),
    ]
    if snapshot.running:
        parts.append(_running(snapshot.running, width))
    parts += [Text(_failure(one), style="red", overflow="ellipsis", no_wrap=True) for one in failures]
    if _is_over(snapshot):
        parts.append(Text(_ending(snapshot)))
    return Group(*parts)


def _running(running: "list[RunningAttempt]", width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title, right in (("question", False), ("try", True), ("time", True), ("calls", True), ("USD", True)):
        table.add_column(title, justify="right" if right else "left", no_wrap=True)
    table.add_column("last command", no_wrap=True, overflow="ellipsis", max_width=max(20, width - 52))
    for one in running[:_MOST_RUNNING]:
        cells = (
            inert(one.question_id)[:24],
            str(one.number),
            _clock(one.seconds),
            str(one.calls),
            "?" if one.cost_usd is None else f"{one.cost_usd:.2f}",
            _one_line(one.command),
        )
        table.add_row(*map(Text, cells))
    if len(running) > _MOST_RUNNING:
        table.caption = f"and {len(running) - _MOST_RUNNING} more"
    return table


def _line(snapshot: "Snapshot") -> str:
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(snapshot.outcomes.items()))
    parts = [f"{snapshot.finished}/{counted(snapshot.questions, 'question')}"]
    if snapshot.running:
        parts.append(f"{len(snapshot.running)} running")
    if snapshot.scored:
        parts.append(f"{snapshot.right} of {snapshot.scored} right")
    if snapshot.per_minute:
        parts.append(f"{snapshot.per_minute:.1f}/min")
    left = snapshot.seconds_left
    if left and snapshot.working is not False:
        parts.append(f"about {_clock(left)} left")
    if snapshot.calls:
        cost = "price unknown" if snapshot.cost_usd is None else f"{snapshot.cost_usd:.2f} USD"
        parts.append(f"{counted(snapshot.calls, 'model call')}, {cost}")
    return "; ".join([*parts, *([outcomes] if outcomes else [])])


def _failure(one: "Failure") -> str:
    return _one_line(f"{one.question_id}: {one.outcome.value}" + (f": {one.detail}" if one.detail else ""))


def _words(one: "RunningAttempt") -> str:
    return f"{inert(one.question_id)}, attempt {one.number}, {_clock(one.seconds)}: {_one_line(one.command)}"


def _one_line(text: str) -> str:
    return inert(" ".join(text[:2000].split()))[:400]


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
