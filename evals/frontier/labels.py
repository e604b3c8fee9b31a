"""Labels beside points of a plot, placed so that they cover neither each other nor a point."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

_NEAR, _FAR, _FARTHEST = 9, 24, 42
"""Distances from the point, in points."""
_MARKER = 7.0
"""Half the side of what a marker takes, in pixels at 100 dpi."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text for the point at (x, y), in data coordinates."""

    x: float
    y: float
    text: str
    color: str
    weight: str = "normal"


def place_labels(
    figure: Figure, axes: Axes, labels: Sequence[Label], lines: Sequence[tuple[float, float]] = ()
) -> None:
    """Draw the labels, each at the first place that costs least.

    A label over another one or over a point costs most, then one that leaves the axes, then one on a line.

    Args:
        lines: points (x, y) on lines that labels should not hide, in data coordinates.
    """
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    scale = figure.dpi / 100
    markers = [_around(axes, label, _MARKER * scale) for label in labels]
    on_lines = axes.transData.transform(lines).tolist() if lines else []
    taken: list[Bbox] = []
    for label, marker in sorted(zip(labels, markers, strict=True), key=lambda pair: (-pair[0].y, pair[0].x)):
        others = [other for other in markers if other is not marker]
        tried = []
        for rank, (dx, dy) in enumerate(_PLACES):
            drawn = _draw(axes, label, dx, dy)
            # The annotation's own extent would hold its arrow and its point too.
            drawn.update_positions(renderer)
            box = Text.get_window_extent(drawn, renderer).padded(2 * scale)
            cost = rank * 0.1 + _cost(box, taken, markers, on_lines, axes.bbox)
            if rank >= len(_DIRECTIONS):
                cost += _LEADER + 30 * sum(_crosses(marker, box, other) for other in (*others, *taken))
            tried.append((cost, rank, drawn, box))
        _, best, _, box = min(tried, key=lambda one: one[:2])
        for _, rank, drawn, _ in tried:
            if rank != best:
                drawn.remove()
        taken.append(box)


def _around(axes: Axes, label: Label, half: float) -> Bbox:
    x, y = axes.transData.transform((label.x, label.y))
    return Bbox.from_extents(x - half, y - half, x + half, y + half)


_LEADER = 6.0
"""What it costs that a label is so far from its point that a line leads to it."""
_DIRECTIONS = ((1, 0), (-1, 0), (0.7, 0.8), (-0.7, 0.8), (0.7, -0.8), (-0.7, -0.8), (0, 1), (0, -1))
_PLACES = [(dx * reach, dy * reach) for reach in (_NEAR, _FAR, _FARTHEST) for dx, dy in _DIRECTIONS]


def _crosses(marker: Bbox, box: Bbox, other: Bbox) -> bool:
    """Whether the line from a marker to its label's nearest point runs through something else."""
    x0, y0 = (marker.x0 + marker.x1) / 2, (marker.y0 + marker.y1) / 2
    x1, y1 = min(max(x0, box.x0), box.x1), min(max(y0, box.y0), box.y1)
    return any(other.contains(x0 + (x1 - x0) * part / 20, y0 + (y1 - y0) * part / 20) for part in range(21))


def _draw(axes: Axes, label: Label, dx: float, dy: float) -> Annotation:
    leader = {
        "arrowstyle": "-",
        "color": label.color,
        "lw": 0.5,
        "shrinkA": 1,
        "shrinkB": 4,
        "relpos": ((1 - _sign(dx)) / 2, (1 - _sign(dy)) / 2),
    }
    return axes.annotate(
        label.text,
        (label.x, label.y),
        xytext=(dx, dy),
        textcoords="offset points",
        ha=("right", "center", "left")[_sign(dx) + 1],
        va=("top", "center", "bottom")[_sign(dy) + 1],
        fontsize=8.5,
        color=label.color,
        fontweight=label.weight,
        linespacing=1.15,
        parse_math=False,
        path_effects=[withStroke(linewidth=2.2, foreground="white", alpha=0.75)],
        zorder=6,
        arrowprops=leader if max(abs(dx), abs(dy)) > _NEAR else None,
    )


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _cost(
    box: Bbox,
    taken: Sequence[Bbox],
    markers: Sequence[Bbox],
    on_lines: Sequence[Sequence[float]],
    inside: Bbox,
) -> float:
    overlaps = sum(box.overlaps(other) for other in taken) + sum(box.overlaps(other) for other in markers)
    leaves = not (box.x0 >= inside.x0 and box.x1 <= inside.x1 and box.y0 >= inside.y0 and box.y1 <= inside.y1)
    crossed = sum(box.contains(x, y) for x, y in on_lines)
    return 100.0 * overlaps + 60.0 * leaves + min(40.0, 2.0 * crossed)
