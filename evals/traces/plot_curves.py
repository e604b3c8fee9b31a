"""Curves that rise with time, from 0 to a share that need not be all."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from evals.traces.plot_style import GREY, GRID, INK, OWN, ROUND, WIDTH, axis_name, page, place, subtitled

_LOOKS = (
    (OWN, "-"), ("#1f2933", "--"), ("#d9822b", "-."), (GREY, ":"),
    ("#8ccbdb", "-"), ("#1f2933", ":"), ("#b04a3a", "--"), (OWN, ":"),
)  # fmt: skip
"""Told apart by lightness and dashes too; from the ninth curve on they come again."""


@dataclass(frozen=True, slots=True)
class Curve:
    """When things happened, ascending, in seconds, and to how many they could have happened."""

    name: str
    moments: list[float]
    out_of: int


def curves_picture(title: str, below: str, beside: str, curves: Sequence[Curve]) -> Figure:
    """One line a curve, which ends where the last of all curves does; n is out of how many."""
    figure = page(3.25, title)
    axes = place(figure, 0.75, 0.0, WIDTH - 0.75 - 0.35, 3.25)
    latest = max(curve.moments[-1] for curve in curves)
    end = 1.04 * latest or 1.0
    handles = []
    for number, curve in enumerate(curves):
        color, dashes = _LOOKS[number % len(_LOOKS)]
        xs = [0.0, *curve.moments, end]
        ys = [count / curve.out_of for count in range(len(curve.moments) + 1)]
        ys.append(ys[-1])
        axes.step(xs, ys, where="post", color=color, ls=dashes, lw=1.9)
        handles.append(Line2D([], [], color=color, ls=dashes, lw=1.9))
    axes.set_xlim(0, end)
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=ROUND))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.grid(visible=True, axis="y", color=GRID, lw=0.8)
    subtitled(figure, beside)
    axis_name(figure, below)
    axes.legend(
        handles,
        [f"{curve.name}: {len(curve.moments)} of {curve.out_of} questions" for curve in curves],
        loc="lower right",
        frameon=True,
        framealpha=0.9,
        edgecolor="none",
        fontsize=8.5,
        labelcolor=INK,
        handlelength=2.6,
    )
    return figure
