"""Pictures of what agents did: classes of calls, first rounds, how far the gold came, and time."""

import io
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from evals.traces.agents import Shown, agents_of
from evals.traces.plot_bars import PartOfBar, Stack, shares_picture, stacked_picture, stages_picture
from evals.traces.plot_curves import Curve, curves_picture
from evals.traces.run import RunTraces
from runbook.files import write_atomically

_STAGES = {
    "in_candidates": "in candidates",
    "listed": "listed",
    "opened": "opened",
    "cited": "cited",
    "in_context": "in context",
    "answered": "answered right",
}
# Told apart by lightness as well as by colour, so that a print in grey can be read.
_CLASSES = {
    "setup": PartOfBar("set-up", "#dde3e8"),
    "guided": PartOfBar("guided", "#0b6e8f"),
    "raw": PartOfBar("raw", "#8ccbdb"),
    "visual": PartOfBar("visual", "#d9822b"),
    "output": PartOfBar("output", "#1f2933"),
    "other": PartOfBar("other", "#ffffff", hatch="////"),
}
_TIMES = (
    PartOfBar("model wait", "#0b6e8f"),
    PartOfBar("tools", "#8ccbdb"),
    PartOfBar("agent and sandbox", "#ffffff", hatch="////"),
)


class NothingToDraw(Exception):  # noqa: N818 - no fault: a run may have nothing of a kind
    """The runs have nothing that a picture would show; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was written, and why the rest was not."""

    paths: list[Path]
    left_out: list[str]


def write_plots(read: Sequence[RunTraces], folder: Path) -> Drawn:
    """Write every picture that the runs have figures for, as PNG and as SVG, into `folder`.

    Raises OSError.
    """
    agents = agents_of(read)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = Drawn([], [])
    settings = {"svg.hashsalt": "traces", "font.size": 9, "text.parse_math": False}
    with mpl.rc_context(settings), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        for name, draw in PICTURES.items():
            try:
                figure = draw(agents)
            except NothingToDraw as nothing:
                drawn.left_out.append(f"no picture {name}: {nothing}")
                continue
            drawn.paths.extend(_write(figure, folder / name))
    return drawn


def classes_picture(agents: Sequence[Shown]) -> Figure:
    """Tool calls a question, by class, a bar an agent."""
    stacks = [
        Stack(one.name, [one.figures.classes_per_question.get(kind, 0.0) for kind in _CLASSES])
        for one in agents
        if one.figures.calls_per_question
    ]
    if not stacks:
        raise NothingToDraw("no tool call is on record")
    return stacked_picture("Tool calls a question, by class", "calls", stacks, list(_CLASSES.values()))


def rounds_picture(agents: Sequence[Shown]) -> Figure:
    """The first rounds: the share of each class among their calls, a panel an agent."""
    panels = []
    for one in agents:
        if not one.figures.first_rounds:
            continue
        reached = Counter(
            number
            for question in one.questions
            for attempt in question.attempts
            for number in range(len(attempt.figures.first_rounds) if attempt.figures else 0)
        )
        columns = [
            Stack(f"{number + 1}\n{reached[number]}", [shares[kind] for kind in _CLASSES])
            for number, shares in enumerate(one.figures.first_rounds)
        ]
        panels.append((one.name, columns))
    if not panels:
        raise NothingToDraw("no round with a tool call is on record")
    return shares_picture(
        "The first rounds: share of calls, by class",
        "round; below it, the number of attempts that reached it",
        panels,
        list(_CLASSES.values()),
    )


def funnel_picture(agents: Sequence[Shown]) -> Figure:
    """How far the gold came, a panel an agent."""
    panels = [
        (one.name, [(label, one.figures.funnel.get(stage)) for stage, label in _STAGES.items()])
        for one in agents
        if any(one.figures.funnel.get(stage) is not None for stage in _STAGES)
    ]
    if not panels:
        raise NothingToDraw("there is no gold, or no question has been answered")
    return stages_picture(
        "How far the gold came",
        "mean share of a question's gold pieces; answered right: share of questions",
        panels,
    )


def time_picture(agents: Sequence[Shown]) -> Figure:
    """Where the time of an attempt went, a bar an agent."""
    stacks = []
    for one in agents:
        whole = one.figures.attempt_seconds
        model, tools = one.figures.model_seconds, one.figures.tool_seconds
        if whole and (model is not None or tools is not None):
            rest = max(0.0, whole - (model or 0.0) - (tools or 0.0))
            stacks.append(Stack(one.name, [model or 0.0, tools or 0.0, rest]))
    if not stacks:
        raise NothingToDraw("no model call or tool call with a time is on record")
    return stacked_picture("Where the time of an attempt goes", "seconds, mean", stacks, list(_TIMES))


def gold_picture(agents: Sequence[Shown]) -> Figure:
    """By when a first gold state had been opened, a curve an agent."""
    curves = []
    for one in agents:
        told = [question for question in one.questions if question.funnel.opened is not None]
        moments = [at for question in told if (at := question.first_gold_seconds) is not None]
        if moments:
            curves.append(Curve(one.name.replace("\n", ", "), sorted(moments), len(told)))
    if not curves:
        raise NothingToDraw("no agent is known to have opened a gold state")
    return curves_picture(
        "Time to the first gold state",
        "seconds from the start of the attempt that counts",
        "share of questions in which a gold state was opened",
        curves,
    )


PICTURES: dict[str, Callable[[Sequence[Shown]], Figure]] = {
    "classes": classes_picture,
    "first-rounds": rounds_picture,
    "funnel": funnel_picture,
    "time": time_picture,
    "first-gold": gold_picture,
}


def _write(figure: Figure, path: Path) -> list[Path]:
    written = []
    for suffix in (".png", ".svg"):
        buffer = io.BytesIO()
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(buffer, format=suffix[1:], dpi=200, metadata=metadata)
        target = path.with_name(path.name + suffix)
        write_atomically(target, buffer.getvalue())
        written.append(target)
    return written
