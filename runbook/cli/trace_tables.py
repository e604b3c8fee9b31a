"""The tables of `runbook traces`."""

from collections.abc import Callable, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from evals.traces.agents import agents_of
from evals.traces.aggregate import GroupFigures, group_figures
from evals.traces.classes import rules
from evals.traces.run import RunTraces
from runbook.cli.plain_table import Row, plain_table
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
_LEGEND = (
    "guided: through ./memory, manifests, candidates or the index; raw: searched or read the haystack's "
    "files itself; setup: the task and the helper's help; output: wrote or handed in evidence"
)
_TIME_LEGEND = (
    "model: a model call was open; tools: a tool ran and no model call was open; the rest of an attempt is "
    "the sandbox's and the agent's own, its start-up above all"
)
_GOLD_LEGEND = (
    "candidates: given to the agent at the start; listed: named in what a tool gave back; opened: asked for; "
    "cited: in the evidence; in context: cited and not cut off for the reader; right: share of questions"
)


def print_traces(console: Console, read: Sequence[RunTraces]) -> None:
    """Everything about some runs: what was called, the first rounds, time and money, the gold, notes.

    Of several the agents come first, side by side.
    """
    parts = []
    if len(read) > 1 and (agents := agents_of(read)):
        named = [one.figures.model_copy(update={"group": one.name.replace("\n", ", ")}) for one in agents]
        parts += [Text("All runs", style="bold"), *_sections(named)]
    for one in read:
        if len(read) > 1:
            parts.append(Text(f"Run {inert(one.run)}", style="bold"))
        if groups := group_figures(one):
            parts += _sections(groups)
        if one.notes:
            parts.append(Text("\n".join(map(inert, one.notes))))
    console.print(Text("\n\n").join(parts))


def _sections(groups: Sequence[GroupFigures]) -> list[Text]:
    calling = any(group.calls_per_question for group in groups)
    sections = _calls(groups) if calling else []
    sections.append(
        plain_table(
            "Seconds of an attempt, and what a right answer costs",
            ("", "attempt", "model", "tools", "until gold", "tokens a right one", "USD a right one"),
            _by_group(groups, _costs),
            _TIME_LEGEND,
        )
    )
    if any(value is not None for group in groups for value in group.funnel.values()):
        title = "How far the gold came, mean over questions of the share of its pieces"
        sections.append(plain_table(title, ("", *_FUNNEL.values()), _by_group(groups, _gold), _GOLD_LEGEND))
    if any(group.errors for group in groups):
        sections.append(
            plain_table("What wrong answers suffer from", ("", "errors"), _by_group(groups, _errors))
        )
    if not calling and any(group.traced_attempts for group in groups):
        agents = ", ".join(inert(group.group) for group in groups if group.by == "agent")
        sections.append(
            Text(
                f"No tool call of {agents} is on record, so there is nothing to say of calls, rounds and "
                "opened states. (scout makes none: it searches by itself, without a model.)"
            )
        )
    return sections


def _calls(groups: Sequence[GroupFigures]) -> list[Text]:
    kinds = rules().order
    return [
        plain_table(
            "Tool calls a question, by class",
            ("", "asked", "calls", *kinds),
            _by_group(groups, _classes),
            _LEGEND,
        ),
        plain_table("The first rounds: share of calls, by class", ("round", *kinds), _first_rounds(groups)),
        plain_table(
            "An attempt: rounds, and calls that were repeated, failed or cut short",
            ("", "attempts", "rounds", "repeated", "failed", "cut short", "KB read", "states opened"),
            _by_group(groups, _reading),
        ),
    ]


def _first_rounds(groups: Sequence[GroupFigures]) -> list[Row]:
    """A row a round; below the name of its agent where there are several."""
    agents = [group for group in groups if group.by == "agent" and group.first_rounds]
    rows: list[Row] = []
    for group in agents:
        rows += [(inert(group.group) or NONE,)] if len(agents) > 1 else []
        rows += [
            (
                f"{'  ' if len(agents) > 1 else ''}{place}",
                *(percent(shares[kind]) for kind in rules().order),
            )
            for place, shares in enumerate(group.first_rounds, start=1)
        ]
    return rows


def _classes(group: GroupFigures) -> Row:
    counts = map(group.classes_per_question.get, rules().order)
    return (str(group.questions), *map(number, (group.calls_per_question, *counts)))


def _reading(group: GroupFigures) -> Row:
    size = group.bytes_read_per_attempt
    figures = (
        group.rounds_per_attempt,
        group.repeated_per_attempt,
        group.failed_per_attempt,
        group.truncated_per_attempt,
        None if size is None else size / 1000,
        group.states_opened,
    )
    return (str(group.attempts), *map(number, figures))


def _costs(group: GroupFigures) -> Row:
    seconds = (group.attempt_seconds, group.model_seconds, group.tool_seconds, group.first_gold_seconds)
    tokens, dollars = group.tokens_per_correct, group.usd_per_correct
    return (
        *map(number, seconds),
        NONE if tokens is None else f"{tokens:,.0f}",
        NONE if dollars is None else f"{dollars:.4f}",
    )


def _gold(group: GroupFigures) -> Row:
    return tuple(percent(group.funnel[stage]) for stage in _FUNNEL)


def _errors(group: GroupFigures) -> Row:
    told = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in group.errors.items())
    return (told or NONE,)


def _by_group(groups: Sequence[GroupFigures], cells: Callable[[GroupFigures], Row]) -> list[Row]:
    """A row a group, below the name of what the groups are by."""
    rows: list[Row] = []
    for by, some in groupby(groups, key=lambda group: group.by):
        rows += [(f"by {by}",)] if by != "agent" else []
        rows += [
            (f"{'' if by == 'agent' else '  '}{inert(group.group) or NONE}", *cells(group)) for group in some
        ]
    return rows
