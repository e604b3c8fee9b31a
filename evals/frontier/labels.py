"""Labels beside points of a plot, placed so that they cover neither each other nor a point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

_Points: TypeAlias = NDArray[np.float64]

_NEAR, _FAR, _FARTHEST, _OUTERMOST = 9, 24, 42, 64
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

    A label over another one or over a point costs most, then one that leaves the axes, then one that a line
    crosses; a leader that crosses something costs less than what it leads away from.

    Args:
        lines: points (x, y) on lines that labels should not hide, in data coordinates.
    """
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    scale = figure.dpi / 100
    markers = [_around(axes, label, _MARKER * scale) for label in labels]
    on_lines = np.asarray(axes.transData.transform(lines) if lines else np.empty((0, 2)), dtype=float)
    tried = [[_tried(axes, label, place, renderer) for place in _PLACES] for label in labels]
    boxes = [[one.padded(2 * scale) for _, one in places] for places in tried]
    around = _Around(boxes, markers, on_lines, axes.bbox, scale)
    chosen: dict[int, int] = {}
    for index in sorted(range(len(labels)), key=lambda index: (-labels[index].y, labels[index].x)) * _SWEEPS:
        costs = [around.cost(index, rank, chosen) for rank in range(len(_PLACES))]
        chosen[index] = costs.index(min(costs))
    for index, places in enumerate(tried):
        for rank, (drawn, _) in enumerate(places):
            if rank != chosen[index]:
                drawn.remove()


def _tried(
    axes: Axes, label: Label, place: tuple[float, float], renderer: RendererBase
) -> tuple[Annotation, Bbox]:
    drawn = _draw(axes, label, *place)
    # The annotation's own extent would hold its arrow and its point too.
    drawn.update_positions(renderer)
    return drawn, Text.get_window_extent(drawn, renderer)


@dataclass(frozen=True, slots=True)
class _Around:
    """Everything that a label can lie over, in pixels."""

    boxes: Sequence[Sequence[Bbox]]
    """Of each label at each of its places."""
    markers: Sequence[Bbox]
    on_lines: _Points
    inside: Bbox
    scale: float

    def cost(self, index: int, rank: int, chosen: Mapping[int, int]) -> float:
        """Of a label at a place, with the others where they were last put."""
        box, marker = self.boxes[index][rank], self.markers[index]
        others = {one: at for one, at in chosen.items() if one != index}
        taken = [self.boxes[one][at] for one, at in others.items()]
        leaders = [
            _leader(self.markers[one], self.boxes[one][at])
            for one, at in others.items()
            if at >= len(_DIRECTIONS)
        ]
        lines = np.vstack([self.on_lines, *leaders])
        cost = rank * 0.1 + _cost(box, taken, self.markers, lines, self.inside)
        if rank < len(_DIRECTIONS):
            return cost
        leader = _leader(marker, box)
        through = [other for other in (*self.markers, *taken) if other is not marker]
        cost += _LEADER + 30 * sum(_holds(other, leader).any() for other in through)
        return cost + 15 * _meets(leader, lines, self.scale)


def _around(axes: Axes, label: Label, half: float) -> Bbox:
    x, y = axes.transData.transform((label.x, label.y))
    return Bbox.from_extents(x - half, y - half, x + half, y + half)


_SWEEPS = 3
"""How often each label looks for its place, the later times with all others placed."""
_LEADER = 6.0
"""What it costs that a label is so far from its point that a line leads to it."""
_DIRECTIONS = ((1, 0), (-1, 0), (0.7, 0.8), (-0.7, 0.8), (0.7, -0.8), (-0.7, -0.8), (0, 1), (0, -1))
_PLACES = [
    (dx * reach, dy * reach) for reach in (_NEAR, _FAR, _FARTHEST, _OUTERMOST) for dx, dy in _DIRECTIONS
]


def _leader(marker: Bbox, box: Bbox) -> _Points:
    """Points on the line from a marker to its label's nearest point."""
    x0, y0 = (marker.x0 + marker.x1) / 2, (marker.y0 + marker.y1) / 2
    x1, y1 = min(max(x0, box.x0), box.x1), min(max(y0, box.y0), box.y1)
    parts = np.linspace(0, 1, 41)
    return np.column_stack([x0 + (x1 - x0) * parts, y0 + (y1 - y0) * parts])


def _holds(box: Bbox, points: _Points) -> NDArray[np.bool_]:
    x, y = points.T
    inside: NDArray[np.bool_] = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    return inside


def _meets(leader: _Points, on_lines: _Points, scale: float) -> bool:
    """Whether a leader crosses a line, away from the point where it begins."""
    away = leader[6:]
    distances = np.hypot(*(away[:, None, :] - on_lines[None, :, :]).transpose(2, 0, 1))
    return bool((distances < 3 * scale).any())


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
    on_lines: _Points,
    inside: Bbox,
) -> float:
    overlaps = sum(box.overlaps(other) for other in taken) + sum(box.overlaps(other) for other in markers)
    leaves = not (box.x0 >= inside.x0 and box.x1 <= inside.x1 and box.y0 >= inside.y0 and box.y1 <= inside.y1)
    crossed = int(_holds(box, on_lines).sum())
    return 100.0 * overlaps + 60.0 * leaves + (min(58.0, 30.0 + crossed) if crossed else 0.0)
