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
    "in_candidates": "candidates",
    "listed": "listed",
    "opened": "opened",
    "cited": "cited",
    "in_context": "in context",
    "answered": "right",
    "answered_from_gold": "right, all cited",
}


def print_traces(console: Console, read: Sequence[RunTraces]) -> None:
    """Everything about some runs: what was called, the first rounds, time and money, the gold, notes."""
    groups = [group for one in read for group in group_figures(one)]
    several = len(read) > 1
    _calls(console, groups, several)
    _first_rounds(console, groups, several)
    _costs(console, groups, several)
    _gold(console, groups, several)
    for one in read:
        for note in one.notes:
            console.print(f"{one.run}: {inert(note)}" if several else inert(note))


def _calls(console: Console, groups: Sequence[GroupFigures], several: bool) -> None:
    kinds = rules().order
    table = _table("Tool calls a question, by class", several, ["questions", "calls", *kinds])
    for group in groups:
        counts = [number(group.classes_per_question.get(kind)) for kind in kinds]
        table.add_row(*_head(group, several), str(group.questions), number(group.calls_per_question), *counts)
    console.print(table)


def _first_rounds(console: Console, groups: Sequence[GroupFigures], several: bool) -> None:
    whole = [group for group in groups if group.by == "agent" and group.first_rounds]
    if not whole:
        return
    kinds = rules().order
    table = _table("Classes in the first rounds, share of calls", several, ["round", *kinds])
    for group in whole:
        for place, shares in enumerate(group.first_rounds, start=1):
            table.add_row(*_head(group, several), str(place), *(percent(shares[kind]) for kind in kinds))
    console.print(table)


def _costs(console: Console, groups: Sequence[GroupFigures], several: bool) -> None:
    columns = ["rounds", "repeated", "failed", "cut short", "kB read", "model s", "tool s", "attempt s"]
    columns += ["tokens per right", "USD per right"]
    table = _table("An attempt: rounds, reading, time; cost of a right answer", several, columns)
    for group in groups:
        size = group.bytes_read_per_attempt
        dollars = group.usd_per_correct
        table.add_row(
            *_head(group, several),
            *map(number, (group.rounds_per_attempt, group.repeated_per_attempt, group.failed_per_attempt)),
            number(group.truncated_per_attempt),
            number(None if size is None else size / 1000),
            *map(number, (group.model_seconds, group.tool_seconds, group.attempt_seconds)),
            NONE if group.tokens_per_correct is None else f"{group.tokens_per_correct:,.0f}",
            NONE if dollars is None else f"{dollars:.4f}",
        )
    console.print(table)


def _gold(console: Console, groups: Sequence[GroupFigures], several: bool) -> None:
    if all(value is None for group in groups for value in group.funnel.values()):
        return
    columns = [*_FUNNEL.values(), "states opened", "first gold s", "errors"]
    table = _table("How far the gold came, share of its pieces", several, columns)
    for group in groups:
        errors = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in group.errors.items())
        table.add_row(
            *_head(group, several),
            *(percent(group.funnel[stage]) for stage in _FUNNEL),
            number(group.states_opened),
            number(group.first_gold_seconds),
            errors or NONE,
        )
    console.print(table)


def _table(title: str, several: bool, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (["run"] if several else []) + ["by", "group"]:
        table.add_column(name, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="left" if name == "errors" else "right")
    return table


def _head(group: GroupFigures, several: bool) -> list[str]:
    return ([inert(group.run)] if several else []) + [group.by, inert(group.group)]
