"""The tables of `runbook traces`."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from evals.traces.aggregate import GroupFigures, group_figures
from evals.traces.classes import rules
from evals.traces.run import RunTraces
from runbook.cli.tables import NONE, number, percent
from runbook.cli.terminal import inert

_FUNNEL = {
    "in_candidates": "candi-\ndates",
    "listed": "listed",
    "opened": "opened",
    "cited": "cited",
    "in_context": "in\ncontext",
    "answered": "right",
    "answered_from_gold": "right,\nall cited",
}


def print_traces(console: Console, read: Sequence[RunTraces]) -> None:
    """Everything about some runs: what was called, the first rounds, time and money, the gold, notes."""
    for one in read:
        if len(read) > 1:
            console.print(f"Run {inert(one.run)}")
        groups = group_figures(one)
        if groups:
            for table in (_calls(groups), _first_rounds(groups), _reading(groups), _costs(groups)):
                console.print(table)
            if any(value is not None for group in groups for value in group.funnel.values()):
                console.print(_gold(groups))
                console.print(_losses(groups))
        for note in one.notes:
            console.print(inert(note))


def _calls(groups: Sequence[GroupFigures]) -> Table:
    kinds = rules().order
    table = _table("Tool calls a question, by class", ["asked", "calls", *kinds])
    for group in groups:
        counts = (group.classes_per_question.get(kind) for kind in kinds)
        table.add_row(_name(group), str(group.questions), *map(number, (group.calls_per_question, *counts)))
    return table


def _first_rounds(groups: Sequence[GroupFigures]) -> Table:
    kinds = rules().order
    table = _table("The first rounds: share of calls, by class", kinds, first="round")
    for group in groups:
        for place, shares in enumerate(group.first_rounds if group.by == "agent" else (), start=1):
            table.add_row(str(place), *(percent(shares[kind]) for kind in kinds))
    return table


def _reading(groups: Sequence[GroupFigures]) -> Table:
    columns = ["attempts", "rounds", "repeated", "failed", "cut\nshort", "kB\nread"]
    table = _table("An attempt: rounds, and calls that were repeated, failed or cut short", columns)
    for group in groups:
        size = group.bytes_read_per_attempt
        table.add_row(
            _name(group),
            str(group.attempts),
            *map(number, (group.rounds_per_attempt, group.repeated_per_attempt, group.failed_per_attempt)),
            number(group.truncated_per_attempt),
            number(None if size is None else size / 1000),
        )
    return table


def _costs(groups: Sequence[GroupFigures]) -> Table:
    columns = ["attempt", "model", "tools", "first\ngold", "tokens per\nright", "USD per\nright"]
    table = _table("Seconds of an attempt; cost of a right answer", columns)
    for group in groups:
        dollars = group.usd_per_correct
        table.add_row(
            _name(group),
            *map(number, (group.attempt_seconds, group.model_seconds, group.tool_seconds)),
            number(group.first_gold_seconds),
            NONE if group.tokens_per_correct is None else f"{group.tokens_per_correct:,.0f}",
            NONE if dollars is None else f"{dollars:.4f}",
        )
    return table


def _gold(groups: Sequence[GroupFigures]) -> Table:
    table = _table("How far the gold came, share of its pieces", _FUNNEL.values())
    for group in groups:
        table.add_row(_name(group), *(percent(group.funnel[stage]) for stage in _FUNNEL))
    return table


def _losses(groups: Sequence[GroupFigures]) -> Table:
    table = _table("States opened, and what wrong answers suffer from", ["states\nopened"])
    table.add_column("errors")
    for group in groups:
        errors = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in group.errors.items())
        table.add_row(_name(group), number(group.states_opened), errors or NONE)
    return table


def _table(title: str, columns: Iterable[str], *, first: str = "") -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column(first, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _name(group: GroupFigures) -> str:
    return f"{group.by} {inert(group.group)}"
