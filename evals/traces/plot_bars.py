"""Bars: stacked ones, shares in columns, and stages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from evals.traces.plot_style import (
    FOOT,
    GREY,
    GRID,
    INK,
    OWN,
    ROUND,
    WIDTH,
    axis_name,
    legend,
    page,
    place,
    subtitled,
)

_LEFT, _RIGHT = 1.95, 0.75
_BAR = 0.46
_COLUMNS = 3
_APART = 0.4
"""Of a bar's row: how much lower the last stage stands."""
_NARROWEST = 0.035
"""Of the axis: a part that is narrower has no room for its figure."""


@dataclass(frozen=True, slots=True)
class PartOfBar:
    """What a part of every bar stands for, and how it looks."""

    name: str
    color: str
    hatch: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """A bar with its parts, in the order of the legend."""

    name: str
    parts: list[float]


def stacked_picture(title: str, unit: str, stacks: Sequence[Stack], kinds: Sequence[PartOfBar]) -> Figure:
    """Lying bars, one below the other, with the figure of each part that has room, and the sum."""
    height = _BAR * len(stacks) + 0.2
    figure = page(height, title)
    axes = place(figure, _LEFT, 0, WIDTH - _LEFT - _RIGHT, height)
    longest = max(sum(stack.parts) for stack in stacks)
    axes.set_xlim(0, 1.02 * longest or 1)
    for row, stack in enumerate(stacks):
        _lying(axes, row, stack, kinds, longest)
    axes.set_yticks(range(len(stacks)), [stack.name for stack in stacks], color=INK)
    axes.set_ylim(len(stacks) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=ROUND))
    axes.grid(visible=True, axis="x", color=GRID, lw=0.8)
    axis_name(figure, unit)
    used = [any(stack.parts[number] for stack in stacks) for number in range(len(kinds))]
    _legend(figure, [kind for kind, there in zip(kinds, used, strict=True) if there])
    return figure


def shares_picture(
    title: str, below: str, panels: Sequence[tuple[str, Sequence[Stack]]], kinds: Sequence[PartOfBar]
) -> Figure:
    """Columns that are all as high as the whole, a panel a name."""
    most = max(len(columns) for _, columns in panels)
    figure, all_axes = _panels(title, [name for name, _ in panels], width_left=0.75, height=1.75, foot=FOOT)
    for axes, (_, columns) in zip(all_axes, panels, strict=True):
        for place_of, column in enumerate(columns):
            bottom = 0.0
            for kind, share in zip(kinds, column.parts, strict=True):
                if not share:
                    continue
                axes.bar(place_of, share, 0.78, bottom=bottom, **_look(kind))
                bottom += share
        axes.set_xlim(-0.6, most - 0.4)
        axes.set_xticks(range(len(columns)), [column.name for column in columns], linespacing=1.5)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1])
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axis_name(figure, below)
    present = [
        any(column.parts[at] for _, columns in panels for column in columns) for at in range(len(kinds))
    ]
    _legend(figure, [kind for kind, there in zip(kinds, present, strict=True) if there])
    return figure


def stages_picture(
    title: str, subtitle: str, panels: Sequence[tuple[str, Sequence[tuple[str, float | None]]]]
) -> Figure:
    """A lying bar a stage, with its share; "not known" where nobody can tell. A panel a name.

    The last stage stands apart, for it is a share of something else.
    """
    figure, all_axes = _panels(title, [name for name, _ in panels], width_left=1.2, height=1.55, foot=0.15)
    for axes, (_, stages) in zip(all_axes, panels, strict=True):
        rows = [*range(len(stages) - 1), len(stages) - 1 + _APART]
        for row, (_, share) in zip(rows, stages, strict=True):
            axes.barh(row, 1, 0.66, color="#f5f6f8", lw=0)
            axes.barh(row, share or 0.0, 0.66, color=INK if row == rows[-1] else OWN, lw=0)
            inside = share is not None and share > 0.75
            text = "not known" if share is None else f"{100 * share:.0f} %"
            axes.text(
                (share or 0.0) + (-0.02 if inside else 0.02),
                row,
                text,
                ha="right" if inside else "left",
                va="center_baseline",
                fontsize=8.5,
                color="white" if inside else (GREY if share is None else INK),
            )
        axes.set_xlim(0, 1)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.set_yticks(rows, [label for label, _ in stages])
        axes.set_ylim(rows[-1] + 0.5, -0.5)
    subtitled(figure, subtitle)
    return figure


def _panels(
    title: str, names: Sequence[str], *, width_left: float, height: float, foot: float
) -> tuple[Figure, list[Axes]]:
    """Panels in rows of three, each below its name; one alone has the whole width."""
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    step = height + 0.7
    figure = page(rows * step - 0.3, title, foot)
    room = (WIDTH - 0.35) / columns
    all_axes = []
    for number, name in enumerate(names):
        row, column = divmod(number, columns)
        axes = place(
            figure, 0.1 + width_left + column * room, row * step + 0.2, room - width_left - 0.15, height
        )
        axes.set_title(
            name.replace("\n", ", "), loc="left", fontsize=9.5, color=INK, fontweight="bold", pad=6
        )
        all_axes.append(axes)
    return figure, all_axes


def _lying(axes: Axes, row: int, stack: Stack, kinds: Sequence[PartOfBar], longest: float) -> None:
    left = 0.0
    for kind, part in zip(kinds, stack.parts, strict=True):
        if not part:
            continue
        axes.barh(row, part, 0.62, left=left, **_look(kind))
        if part > _NARROWEST * longest:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0} if kind.hatch else None
            axes.text(
                left + part / 2, row, f"{part:.1f}", ha="center", va="center_baseline", fontsize=8,
                color=_on(kind), bbox=box,
            )  # fmt: skip
        left += part
    axes.annotate(
        f"{left:.1f}", (left, row), xytext=(6, 0), textcoords="offset points", va="center_baseline",
        fontsize=9, fontweight="bold", color=INK,
    )  # fmt: skip


def _look(kind: PartOfBar) -> dict[str, Any]:
    edge = GREY if kind.hatch else "white"
    return {"facecolor": kind.color, "edgecolor": edge, "hatch": kind.hatch or None, "linewidth": 0.8}


def _on(kind: PartOfBar) -> str:
    """The colour of text on a part."""
    red, green, blue = to_rgb(kind.color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else INK


def _legend(figure: Figure, kinds: Sequence[PartOfBar]) -> None:
    handles = [
        Patch(facecolor=kind.color, edgecolor=GREY if kind.hatch else kind.color, hatch=kind.hatch or None)
        for kind in kinds
    ]
    legend(figure, handles, [kind.name for kind in kinds])
