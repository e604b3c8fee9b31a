"""`runbook frontier`: runs as operating points beside the published ones."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runbook.cli.failures import Mistake
from runbook.cli.options import AsJson
from runbook.cli.tables import number, percent, print_json
from runbook.cli.terminal import inert, terminal

if TYPE_CHECKING:
    from evals.frontier.frontier import Frontier
    from evals.frontier.what_if import WhatIf
    from evals.recorded import RecordedRun
    from evals.statistics.intervals import Interval


def frontier(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    tier: Annotated[
        str | None, typer.Option(help="Tier of the published points (default: the runs' own).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw a picture here, as PNG and as SVG.")
    ] = None,
    deadlines: Annotated[
        str, typer.Option("--what-if", help="Also score the drafts at these deadlines, as 10,20,40 seconds.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Put runs on the accuracy-latency frontier.

    Prints LAFS and what each run adds to it; --out draws a picture.
    """
    from evals.frontier.frontier import frontier as build
    from evals.frontier.points import NoPointError
    from evals.recorded import gold_of_run, read_run

    seconds = _seconds(deadlines)
    loaded = [read_run(path) for path in runs]
    chosen = tier or _tier(loaded)
    try:
        gold = {question: one for run in reversed(loaded) for question, one in gold_of_run(run)[0].items()}
        found = build(loaded, chosen, gold)
    except NoPointError as error:
        raise Mistake(str(error)) from None
    except KeyError:
        raise Mistake(
            f"there are no published points of tier {chosen!r}: small and medium have some"
        ) from None
    drafts = [(run.name, _what_if(run, seconds)) for run in loaded] if seconds else []
    if as_json:
        print_json({"frontier": found, "what_if": [{"run": name, "at": rows} for name, rows in drafts]})
    else:
        _print(terminal(), found)
        for name, rows in drafts:
            _print_what_if(terminal(), name, rows)
    if out is not None:
        from evals.frontier.plot import write_picture

        written = write_picture(found, out)
        terminal(stderr=True).print(f"drawn: {', '.join(map(str, written))}", soft_wrap=True)


def _tier(runs: Sequence["RecordedRun"]) -> str:
    tiers = sorted({run.record.config.tier for run in runs})
    if len(tiers) > 1:
        raise Mistake(f"the runs are of tiers {', '.join(tiers)}: name the one to stand beside with --tier")
    return tiers[0]


def _seconds(deadlines: str) -> list[float]:
    try:
        seconds = [float(part) for part in deadlines.split(",") if part.strip()]
    except ValueError:
        raise Mistake(f"--what-if: {deadlines!r} is no list of seconds, as 10,20,40") from None
    if not all(0 < one < math.inf for one in seconds):
        raise Mistake("--what-if: a deadline is a number of seconds above 0")
    return seconds


def _what_if(run: "RecordedRun", seconds: Sequence[float]) -> "list[WhatIf]":
    from evals.frontier.what_if import what_if
    from evals.recorded import data_of
    from manifests.store import Store

    store = run.record.config.store
    if not store.is_dir():
        raise Mistake(f"--what-if needs the run's store, and {store} is not there")
    return what_if(run, data_of(run), Store.open(store), seconds)


def _print(console: Console, found: "Frontier") -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run", overflow="fold")
    with_lafs = bool(found.reference)
    worth_titles = ("LAFS alone", "marginal") if with_lafs else ()
    for title in (f"{found.measure.replace('_', ' ')}, %", "seconds", "n", *worth_titles, "front"):
        table.add_column(title, justify="right", no_wrap=True)
    for worth in sorted(found.runs, key=lambda worth: worth.point.seconds):
        point = worth.point
        cells = [
            inert(point.name) + (" (replayed)" if point.replayed else ""),
            f"{100 * point.value:.1f}{_percents(point.interval)}",
            number(point.seconds),
            str(point.questions),
            *((f"{worth.alone:+.2f}", f"{worth.marginal:+.2f}") if with_lafs else ()),
            "yes" if worth.undominated else "no",
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
    if with_lafs:
        between = found.gain_interval
        console.print(
            f"LAFS {found.lafs:.2f}, published points alone {found.reference_lafs:.2f}, "
            f"gain {found.gain:+.2f}"
            + (f" (95 % interval {between.low:+.2f} to {between.high:+.2f})" if between else "")
        )
    console.print(f"not dominated, by latency: {inert(', '.join(found.pareto))}")
    for remark in found.remarks:
        console.print(inert(remark))


def _percents(interval: "Interval | None") -> str:
    return f" ({100 * interval.low:.1f} to {100 * interval.high:.1f})" if interval else ""


def _print_what_if(console: Console, name: str, rows: "Sequence[WhatIf]") -> None:
    console.print()
    console.print(
        f"{inert(name)}, had it been stopped earlier. Post hoc: its agents did not know of the deadline. "
        "Scored is the latest draft that they had saved.",
        style="bold",
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    titles = ("deadline", "seconds", "evidence", "final", "hit", "all hit", "known", "accuracy between")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [
            f"{row.deadline:g}",
            number(row.seconds),
            f"{row.with_evidence} of {row.answers}",
            str(row.with_final),
            percent(row.evidence_hit),
            percent(row.all_pieces_hit),
            f"{row.known} of {row.scored}" if row.scored else "-",
            f"{percent(row.accuracy_low)} and {percent(row.accuracy_high)}" if row.scored else "-",
        ]
        table.add_row(*map(Text, cells))
    console.print(table)
