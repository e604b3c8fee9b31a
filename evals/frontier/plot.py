"""The picture of a frontier: accuracy over latency, the published points, and what the runs gain."""

import io
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from evals.frontier.frontier import Frontier
from evals.frontier.labels import Label, place_labels
from evals.scoring.lafs import LONGEST_BUDGET_SECONDS, SHORTEST_BUDGET_SECONDS, OperatingPoint
from evals.statistics.intervals import Interval
from runbook.files import write_atomically

_INK, _GREY, _PALE, _OWN, _FILL = "#1f2933", "#6b7785", "#c5ccd3", "#0b6e8f", "#bfe3ec"
_UNCOUNTED = "#eceff2"
"""Grey is where latency does not count for LAFS, here and in a report."""
_WHISKER = "#79b0c3"
_ROW = 4
"""Entries in a row of the legend."""
_DIGITS = ((12.0, (1, 1.5, 2, 3, 4, 5, 6, 8)), (1e5, (1, 2, 5)), (math.inf, (1,)))
"""First digits of ticks on an axis whose end is at most so many times its beginning."""
_TICK_MARGIN = 0.015
"""Of the axis, in which no tick lies, because its name would hang over the end."""


def write_picture(frontier: Frontier, path: Path) -> list[Path]:
    """Write the picture as PNG and as SVG beside each other, whatever the suffix; returns both paths.

    Raises OSError.
    """
    with mpl.rc_context({"svg.hashsalt": "frontier", "font.size": 9}):
        figure = picture(frontier)
        written = []
        for suffix in (".png", ".svg"):
            target = path.with_suffix(suffix)
            buffer = io.BytesIO()
            metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
            figure.savefig(buffer, format=suffix[1:], dpi=200, metadata=metadata)
            write_atomically(target, buffer.getvalue())
            written.append(target)
    return written


def picture(frontier: Frontier) -> Figure:
    """The drawing, before it is written."""
    figure = Figure(figsize=(9.2, 5.6), dpi=100, facecolor="white")
    axes = figure.add_axes((0.075, 0.1, 0.9, 0.71))
    published = list(frontier.reference.values())
    own = [worth.point.operating_point for worth in frontier.runs]
    intervals = [worth.point.interval for worth in frontier.runs if worth.point.interval]
    _set_axes(axes, [*published, *own], intervals, budgets=bool(published))
    right = axes.get_xlim()[1]
    before, after = _stairs(published, right), _stairs([*published, *own], right)
    if published:
        _shade_what_does_not_count(axes)
        _fill(axes, before, after)
        axes.plot(*zip(*_steps(before, right), strict=True), color=_PALE, lw=1.6, zorder=2)
    axes.plot(*zip(*_steps(after, right), strict=True), color=_OWN, lw=1.8, zorder=3)
    _points(axes, frontier)
    _title(figure, frontier)
    _legend(figure, frontier)
    lines = [*_along(before, right), *_along(after, right), *_along_intervals(frontier)]
    place_labels(figure, axes, _labels(frontier), lines)
    return figure


def _set_axes(
    axes: Axes, points: Sequence[OperatingPoint], intervals: Sequence[Interval], *, budgets: bool
) -> None:
    """Axes around points and intervals; those of budgets hold all of what counts for LAFS."""
    shortest, longest = axis_range([point.seconds for point in points], budgets=budgets)
    axes.set_xscale("log")
    axes.set_xlim(shortest, longest)
    axes.xaxis.set_major_locator(_fixed(axis_ticks(shortest, longest)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    low = min(min(point.accuracy for point in points) - 0.15, *(one.low for one in intervals), 1.0)
    high = max(max(point.accuracy for point in points) + 0.15, *(one.high for one in intervals), 0.0)
    axes.set_ylim(max(0.0, math.floor(10 * low) / 10), min(1.03, high))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axes.grid(visible=True, axis="y", color="#edf0f2", lw=0.8, zorder=0)
    axes.tick_params(length=0, colors=_GREY, pad=5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_PALE)
    axes.set_xlabel("mean latency of a memory query (log scale)", color=_GREY, labelpad=6)


def axis_range(seconds: Sequence[float], *, budgets: bool) -> tuple[float, float]:
    """From where to where the axis goes, with room for the labels beside the outermost points."""
    if budgets:
        return min(0.8, *seconds) / 1.8, max(LONGEST_BUDGET_SECONDS, *seconds) * 2.6
    shortest, longest = min(seconds), max(seconds)
    room = max(1.8, (longest / shortest) ** 0.3)
    return shortest / room, longest * room


def axis_ticks(shortest: float, longest: float) -> list[float]:
    """Round numbers, as far from the ends that their names stay inside; the more the shorter the axis."""
    ratio = longest / shortest
    digits = next(digits for most, digits in _DIGITS if ratio <= most)
    margin = ratio**_TICK_MARGIN
    ticks = (digit * 10.0**power for power in range(-3, 6) for digit in digits)
    return [tick for tick in ticks if shortest * margin <= tick <= longest / margin]


def _shade_what_does_not_count(axes: Axes) -> None:
    left, right = axes.get_xlim()
    below = axes.get_xaxis_transform()
    for start, end, x, side, text in (
        (left, SHORTEST_BUDGET_SECONDS, SHORTEST_BUDGET_SECONDS, "right", "counts from 1 s "),
        (LONGEST_BUDGET_SECONDS, right, LONGEST_BUDGET_SECONDS, "left", " too late to count"),
    ):
        axes.axvspan(start, end, color=_UNCOUNTED, lw=0, zorder=0)
        axes.text(x, 0.012, text, ha=side, va="bottom", fontsize=7.5, color=_GREY, transform=below)


def _fixed(ticks: Sequence[float]) -> mpl.ticker.FixedLocator:
    return mpl.ticker.FixedLocator(ticks)


Stairs = list[tuple[float, float]]
"""(from this latency on, the best accuracy), rising; before the first one it is 0."""


def _stairs(points: Sequence[OperatingPoint], right: float) -> Stairs:
    stairs: Stairs = []
    for point in sorted(points, key=lambda point: point.seconds):
        if point.seconds <= right and (not stairs or point.accuracy > stairs[-1][1]):
            stairs.append((point.seconds, point.accuracy))
    return stairs


def _steps(stairs: Stairs, right: float) -> list[tuple[float, float]]:
    """The corners of the line, from the first point to the right edge."""
    corners = stairs[:1]
    for seconds, accuracy in stairs[1:]:
        corners += [(seconds, corners[-1][1]), (seconds, accuracy)]
    return [*corners, *((right, accuracy) for _, accuracy in corners[-1:])]


def _along(stairs: Stairs, right: float) -> list[tuple[float, float]]:
    """Points along the line, close enough that a label cannot slip between two."""
    return [
        (x0 * (x1 / x0) ** (part / 40), y0 + (y1 - y0) * part / 40)
        for (x0, y0), (x1, y1) in pairwise(_steps(stairs, right))
        for part in range(40)
    ]


def _along_intervals(frontier: Frontier) -> list[tuple[float, float]]:
    return [
        (worth.point.seconds, interval.low + (interval.high - interval.low) * part / 60)
        for worth in frontier.runs
        if (interval := worth.point.interval)
        for part in range(61)
    ]


def _fill(axes: Axes, before: Stairs, after: Stairs) -> None:
    """The gain: what lies between the two stairs where latency counts."""
    edges = sorted(
        {SHORTEST_BUDGET_SECONDS, LONGEST_BUDGET_SECONDS}
        | {
            min(max(seconds, SHORTEST_BUDGET_SECONDS), LONGEST_BUDGET_SECONDS)
            for seconds, _ in [*before, *after]
        }
    )
    for start, end in pairwise(edges):
        low, high = (_height(stairs, start) for stairs in (before, after))
        if high > low:
            axes.fill_between([start, end], low, high, color=_FILL, lw=0, zorder=1)


def _height(stairs: Stairs, seconds: float) -> float:
    return max((accuracy for start, accuracy in stairs if start <= seconds), default=0.0)


def _points(axes: Axes, frontier: Frontier) -> None:
    for point in frontier.reference.values():
        axes.plot(point.seconds, point.accuracy, "o", color="white", mec=_GREY, mew=1.4, ms=6.5, zorder=4)
    for worth in frontier.runs:
        own = worth.point
        if own.interval:
            ends = [own.interval.low, own.interval.high]
            # Ends of their own, for a step of the frontier can hide the line between them.
            axes.plot([own.seconds] * 2, ends, color=_WHISKER, lw=1, marker="_", ms=7, zorder=3.5)
        face = _OWN if worth.undominated else "white"
        axes.plot(own.seconds, own.value, "D", color=face, mec=_OWN, mew=1.4, ms=6.5, zorder=5)


def _legend(figure: Figure, frontier: Frontier) -> None:
    """What marks and lines mean, of those that are there."""
    kinds = {worth.undominated for worth in frontier.runs}
    published = bool(frontier.reference)
    intervals = any(worth.point.interval for worth in frontier.runs)
    entries = [
        (True in kinds, "run on the frontier", _mark("D", _OWN, _OWN)),
        (False in kinds, "dominated run", _mark("D", "white", _OWN)),
        (published, "published point", _mark("o", "white", _GREY)),
        (True, "frontier", Line2D([], [], color=_OWN, lw=1.8)),
        (published, "of the published points", Line2D([], [], color=_PALE, lw=1.6)),
        (intervals, "95 % interval", Line2D([], [], marker="|", color=_WHISKER, ms=9, ls="")),
        (published, "does not count for LAFS", Patch(facecolor=_UNCOUNTED, edgecolor=_PALE, lw=0.8)),
    ]
    shown = [(name, handle) for there, name, handle in entries if there]
    figure.legend(
        [handle for _, handle in shown],
        [name for name, _ in shown],
        loc="upper left",
        bbox_to_anchor=(0.069, 0.885),
        ncols=_ROW,
        frameon=False,
        fontsize=8.5,
        labelcolor=_GREY,
        handletextpad=0.4,
        columnspacing=1.6,
        borderaxespad=0,
    )


def _mark(shape: Literal["D", "o"], face: str, edge: str) -> Line2D:
    return Line2D([], [], marker=shape, color=face, mec=edge, mew=1.4, ms=6, ls="")


def _labels(frontier: Frontier) -> list[Label]:
    published = [
        Label(point.seconds, point.accuracy, f"{name}\n{_where(point)}", _GREY)
        for name, point in frontier.reference.items()
    ]
    own = [
        Label(
            worth.point.seconds,
            worth.point.value,
            f"{_short(worth.point.name)}{' (replayed)' if worth.point.replayed else ''}\n"
            f"{_where(worth.point.operating_point)}",
            _OWN if worth.undominated else _INK,
            "bold" if worth.undominated else "normal",
        )
        for worth in frontier.runs
    ]
    return [*published, *own]


def _where(point: OperatingPoint) -> str:
    seconds = f"{point.seconds:.1f}" if point.seconds < 10 else f"{point.seconds:.0f}"
    return f"{100 * point.accuracy:.1f} % at {seconds} s"


def _short(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:31]}…"


def _title(figure: Figure, frontier: Frontier) -> None:
    what = frontier.measure.replace("_", " ").capitalize()
    figure.text(
        0.075, 0.945, f"{what} and latency, tier {frontier.tier}", fontsize=14, fontweight="bold", color=_INK
    )
    if frontier.reference:
        interval = frontier.gain_interval
        between = f" ({interval.low:+.2f} to {interval.high:+.2f})" if interval else ""
        line = (
            f"LAFS {frontier.lafs:.2f}; the published points alone {frontier.reference_lafs:.2f}; "
            f"gain of the runs {frontier.gain:+.2f}{between}, shaded"
        )
    else:
        line = "Mean share of a question's gold pieces hit; no accuracy, so no published points"
    if not all(worth.point.is_result for worth in frontier.runs):
        line += "; some runs are no benchmark result"
    figure.text(0.075, 0.925, line, fontsize=9, color=_GREY, va="top")
