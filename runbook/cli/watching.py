"""`runbook watch`: a run while it is under way. It only reads files, so it can start and stop at any time."""

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, ConsoleDimensions, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runbook.cli.tables import counted
from runbook.cli.terminal import inert, terminal
from runbook.cli.watching_keys import Keys

if TYPE_CHECKING:
    from evals.live import Failure, LiveRun, RunningAttempt, Snapshot

_SHOWN_FAILURES = 12
_FIXED_LINES = 3
"""Of the picture: the run, the heads of the columns, the hint."""
_HINT = Text("q or Ctrl-C ends the watching; the run goes on", style="dim", no_wrap=True, overflow="ellipsis")
_LINE_SECONDS = 15.0
_PATIENCE_SECONDS = 0.5
"""Between two looks at the size of the terminal."""


def watch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    interval: Annotated[float, typer.Option(min=0.2, max=3600, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Look once.")] = False,
) -> None:
    """Watch a run while it is under way.

    What its agents do now, how fast it goes, what it has cost, and what fails. `q` or Ctrl-C ends the
    watching, never the run. Without a terminal that can redraw (a pipe, TERM=dumb) it prints lines.
    """
    from evals.live import LiveRun

    live = LiveRun(run)
    console = terminal()
    try:
        if console.is_terminal and not console.is_dumb_terminal and not once:
            _show(console, live, interval)
        else:
            _tell(console, live, interval, once=once)
    except KeyboardInterrupt:
        return


def _show(console: Console, live: "LiveRun", interval: float) -> None:
    """A picture that is drawn anew at every look; the last one stays on the terminal."""
    failures: deque[Failure] = deque(maxlen=_SHOWN_FAILURES)
    last = Group()
    try:
        with Keys() as keys, Live(console=console, auto_refresh=False, screen=True) as screen:
            while True:
                snapshot = live.look()
                failures.extend(snapshot.new_failures)
                last = _picture(live, snapshot, failures, console.size)
                if _is_over(snapshot):
                    return
                if _watched(screen, keys, Group(last, _HINT), interval):
                    return
    finally:
        console.print(last, soft_wrap=False)


def _watched(screen: Live, keys: Keys, picture: Group, seconds: float) -> bool:
    """Show a picture for so long, or until the terminal has another size; whether it was to be the last."""
    screen.update(picture, refresh=True)
    size, until = screen.console.size, time.monotonic() + seconds
    while screen.console.size == size and (left := until - time.monotonic()) > 0:
        if "q" in keys.pressed(min(left, _PATIENCE_SECONDS)).lower():
            return True
    return False


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


def _picture(
    live: "LiveRun", snapshot: "Snapshot", failures: "deque[Failure]", size: ConsoleDimensions
) -> Group:
    """What fits on a screen: the state, some failures, and as many attempts as there is room for."""
    state = Text(_line(snapshot), no_wrap=False, overflow="fold")
    ending = [Text(_ending(snapshot))] if _is_over(snapshot) else []
    failed = [Text(_failure(one), style="red", overflow="ellipsis", no_wrap=True) for one in failures]
    taken = _FIXED_LINES + -(-state.cell_len // max(size.width, 1)) + len(ending)
    failed = failed[-max(1, (size.height - taken) // 3) :]
    room = max(1, size.height - taken - len(failed))
    parts: list[Text | Table] = [
        Text.assemble((inert(live.folder.name), "bold"), f"  {inert(live.agent)}"),
        state,
    ]
    if snapshot.running:
        parts += _running(snapshot.running, size.width, room)
    return Group(*parts, *failed, *ending)


def _running(running: "list[RunningAttempt]", width: int, room: int) -> list[Table | Text]:
    """A line an attempt, in at most so many lines."""
    shown = running if len(running) <= room else running[: room - 1]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title, right in (("question", False), ("try", True), ("time", True), ("calls", True), ("USD", True)):
        table.add_column(title, justify="right" if right else "left", no_wrap=True)
    table.add_column("last command", no_wrap=True, overflow="ellipsis", max_width=max(20, width - 52))
    for one in shown:
        cells = (
            inert(one.question_id)[:24],
            str(one.number),
            _clock(one.seconds),
            str(one.calls),
            "?" if one.cost_usd is None else f"{one.cost_usd:.2f}",
            _one_line(one.command),
        )
        table.add_row(*map(Text, cells))
    left = len(running) - len(shown)
    return [table, *([Text(f"and {left} more", style="dim")] if left else [])]


def _line(snapshot: "Snapshot") -> str:
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(snapshot.outcomes.items()))
    parts = [f"{snapshot.finished}/{counted(snapshot.questions, 'question')}"]
    if snapshot.running:
        parts.append(f"{len(snapshot.running)} {'broken off' if snapshot.working is False else 'running'}")
    if snapshot.scored:
        parts.append(f"{round(snapshot.right, 2):g} of {snapshot.scored} right")
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
