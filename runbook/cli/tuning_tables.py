"""What `runbook tune` prints."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runbook.cli.tables import counted, number
from runbook.cli.terminal import inert

if TYPE_CHECKING:
    from evals.tuning.plan import Plan
    from evals.tuning.report import Confirmed, StudyResult, Tried
    from evals.tuning.space import Setting


def print_plan(console: Console, plan: "Plan", folder: Path) -> None:
    """What will be tried, on what, and how far."""
    caps = plan.study.caps
    size = "any number of" if plan.space.size is None else f"{plan.space.size:,}"
    limits = [f"{counted(caps.settings, 'setting')}"]
    limits += [f"{caps.usd:g} USD"] if caps.usd is not None else []
    limits += [f"{caps.hours:g} hours"] if caps.hours is not None else []
    console.print(
        f"Study in {inert(str(folder))}: {size} settings possible, at most {', '.join(limits)}; "
        f"{counted(len(plan.split.search), 'question')} to search on, {len(plan.split.confirm)} to "
        f"confirm on, out of {counted(plan.split.clusters, 'cluster')}."
    )
    for remark in plan.remarks:
        console.print(inert(remark))


def print_result(console: Console, result: "StudyResult") -> None:
    """The settings as they were tried, then what holds of the chosen ones."""
    console.print()
    console.print("Search; figures that settings were chosen by, which are no result:", style="bold")
    _print_tried(console, result)
    _print_chance(console, result)
    console.print()
    if not result.confirmed:
        console.print("Nothing is confirmed, so there is no result.", style="bold")
    else:
        console.print(
            f"Result, on {counted(result.confirm_questions, 'question')} that no setting was chosen on:",
            style="bold",
        )
    for point in result.confirmed:
        console.print(f"{', '.join(point.names)}: {confirmed_line(point, result)}")
    _print_gain(console, result)
    for remark in result.remarks:
        console.print(inert(remark))
    console.print(f"Spent: {result.usd:.2f} USD for the memory's model, {result.hours:.2f} hours.")


def confirmed_line(point: "Confirmed", result: "StudyResult") -> str:
    """One chosen setting: its confirmed figures, and what the search had promised."""
    between = (
        f" ({100 * point.interval.low:.1f} to {100 * point.interval.high:.1f})" if point.interval else ""
    )
    usd = f", {point.figures.usd:.4f} USD" if point.figures.usd else ""
    return (
        f"setting {point.number}, {_measure(result)} {100 * point.figures.quality:.1f} %{between} on "
        f"{counted(point.questions, 'question')}, {number(point.figures.seconds)} s{usd} a question; "
        f"it looked like {100 * point.searched_quality:.1f} % in the search"
    )


def _print_tried(console: Console, result: "StudyResult") -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("setting", justify="right", no_wrap=True)
    table.add_column("values", overflow="fold", min_width=12)
    for title in (f"{_measure(result)}, %", "seconds", "USD", "n"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for tried in result.settings:
        table.add_row(*map(Text, _cells(tried, result)))
    console.print(table)


def _cells(tried: "Tried", result: "StudyResult") -> list[str]:
    values = "\n".join(f"{_short(name, tried.setting)} = {value}" for name, value in tried.setting.items())
    names = [name for name, chosen in result.chosen.items() if chosen == tried.number]
    state = tried.reason or tried.state.value
    found = tried.figures
    return [
        str(tried.number),
        inert(values),
        f"{100 * found.quality:.1f}" if found else "-",
        number(found.seconds if found else None),
        "?" if found and found.usd is None else f"{found.usd:.4f}" if found and found.usd else "-",
        str(tried.questions),
        inert("\n".join([state, *names])),
    ]


def _short(name: str, setting: "Setting") -> str:
    """The end of a dotted key, as far as it is the only one that ends so."""
    parts = name.split(".")
    ends = [".".join(parts[start:]) for start in reversed(range(len(parts)))]
    return next(end for end in ends if sum(f".{key}".endswith(f".{end}") for key in setting) == 1)


def _print_chance(console: Console, result: "StudyResult") -> None:
    chance = result.chance
    if chance.settings < 2:
        return
    independent = f"{100 * chance.independent:.1f} points, were their answers independent"
    if chance.paired is None:
        lead = independent
    else:
        lead = f"{100 * chance.paired:.1f} points as they vary together ({independent})"
    console.print(
        f"{counted(chance.settings, 'setting')} were tried. Were they all equal, the best would still look "
        f"better than it is on {chance.questions} questions: by {lead}."
    )


def _print_gain(console: Console, result: "StudyResult") -> None:
    found = result.frontier
    if found is None or found.gain is None or found.reference_lafs is None:
        return
    between = (
        f" ({found.gain_interval.low:+.2f} to {found.gain_interval.high:+.2f})" if found.gain_interval else ""
    )
    console.print(
        f"LAFS gain over the published points alone ({found.reference_lafs:.2f}): {found.gain:+.2f}{between}"
    )


def _measure(result: "StudyResult") -> str:
    return result.measure.replace("_", " ")
