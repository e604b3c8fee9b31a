"""How the pictures of traces look: as the frontier's."""

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, GREY, PALE, OWN, GRID = "#1f2933", "#6b7785", "#c5ccd3", "#0b6e8f", "#edf0f2"
ROUND = (1, 2, 2.5, 5, 10)
"""First digits of the steps between ticks."""
WIDTH = 9.2
"""Inches."""
HEAD = 0.95
"""Inches above the axes, for title and legend."""
FOOT = 0.62
"""Inches below them, for ticks and the name of the axis."""


def page(height: float, title: str, foot: float = FOOT) -> Figure:
    """An empty figure whose axes together are `height` inches high."""
    figure = Figure(figsize=(WIDTH, height + HEAD + foot), dpi=100, facecolor="white")
    figure.text(
        0.35 / WIDTH, 1 - 0.38 / figure.get_figheight(), title, fontsize=14, fontweight="bold", color=INK
    )
    return figure


def place(figure: Figure, left: float, below: float, width: float, height: float) -> Axes:
    """Axes at so many inches from the left, and below the head."""
    whole = figure.get_figheight()
    axes = figure.add_axes(
        (left / WIDTH, (whole - HEAD - below - height) / whole, width / WIDTH, height / whole)
    )
    axes.tick_params(length=0, colors=GREY, pad=5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(PALE)
    axes.set_axisbelow(True)
    return axes


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """What marks mean, in a line below the title."""
    figure.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(0.33 / WIDTH, 1 - 0.5 / figure.get_figheight()),
        ncols=max(1, len(names)),
        frameon=False,
        fontsize=8.5,
        labelcolor=GREY,
        handlelength=1.2,
        handletextpad=0.5,
        columnspacing=1.6,
        borderaxespad=0,
    )


def subtitled(figure: Figure, text: str) -> None:
    """What is shown, where other pictures have a legend."""
    figure.text(0.35 / WIDTH, 1 - 0.62 / figure.get_figheight(), text, fontsize=9, color=GREY)


def axis_name(figure: Figure, text: str) -> None:
    """The name of what goes to the right, below all panels."""
    figure.text(0.5, 0.16 / figure.get_figheight(), text, color=GREY, ha="center", fontsize=9)
