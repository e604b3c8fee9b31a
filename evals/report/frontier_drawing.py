"""The frontier as lines and marks of an inline SVG, which takes its colours from the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evals.frontier.frontier import Frontier
from evals.scoring.lafs import LONGEST_BUDGET_SECONDS, SHORTEST_BUDGET_SECONDS, OperatingPoint
from evals.statistics.intervals import Interval

_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 18, 40
_LETTER = 6.3
"""Width of a letter of a label, in units of the drawing."""
_LINE = 13
_LONGEST = 26
"""Letters of a label."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its label. `own` is a run's, else it was published."""

    x: float
    y: float
    own: bool
    label: str
    value: str
    label_x: float
    label_y: float
    anchor: str
    low: float | None
    high: float | None
    """Ends of the interval, top and bottom, in the drawing."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything in units of the drawing, the origin at the top left."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    scored: tuple[float, float]
    """From where to where latency counts."""
    before: str
    """Path of the published points' stairs."""
    after: str
    gained: str
    """Path of what the runs add."""
    marks: list[Mark]


def draw(frontier: Frontier, width: int, height: int) -> Drawing:
    """The drawing of a frontier in a size; a narrow one has fewer ticks."""
    published = list(frontier.reference.items())
    own = [(worth.point.name, worth.point) for worth in frontier.runs]
    points = [point for _, point in published] + [point.operating_point for _, point in own]
    slowest = max([LONGEST_BUDGET_SECONDS, *(point.seconds for point in points)])
    quickest = min([SHORTEST_BUDGET_SECONDS, *(point.seconds for point in points)])
    across = _Across(math.log(quickest / 1.7), math.log(slowest * 2.4), _LEFT, width - _RIGHT)
    highs = [point.accuracy for point in points]
    highs += [point.interval.high for _, point in own if point.interval]
    down = _Down(min(1.0, math.ceil(10 * max(highs) + 0.4) / 10), _TOP, height - _BOTTOM)
    stairs_before = _stairs([point for _, point in published])
    stairs_after = _stairs(points)
    end = math.exp(across.high)
    labels = [_Label(name, point.seconds, point.accuracy, False) for name, point in published]
    labels += [_Label(name, point.seconds, point.value, True, point.interval) for name, point in own]
    every = 2 if width < 500 else 1
    return Drawing(
        width=width,
        height=height,
        left=_LEFT,
        right=width - _RIGHT,
        top=_TOP,
        bottom=height - _BOTTOM,
        x_ticks=[
            (across(tick), f"{tick:g} s")
            for tick in _TICKS
            if across.low <= math.log(tick) <= across.high and (every == 1 or str(tick)[0] == "1")
        ],
        y_ticks=[(down(step / 10), f"{10 * step} %") for step in range(0, round(10 * down.high) + 1, 2)],
        scored=(across(SHORTEST_BUDGET_SECONDS), across(LONGEST_BUDGET_SECONDS)),
        before=_path(stairs_before, end, across, down),
        after=_path(stairs_after, end, across, down),
        gained=_area(stairs_before, stairs_after, across, down) if published else "",
        marks=_marks(labels, across, down, width, _along(stairs_after, end, across, down)),
    )


@dataclass(frozen=True, slots=True)
class _Label:
    name: str
    seconds: float
    share: float
    own: bool
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class _Across:
    low: float
    high: float
    left: float
    right: float

    def __call__(self, seconds: float) -> float:
        part = (math.log(seconds) - self.low) / (self.high - self.low)
        return round(self.left + part * (self.right - self.left), 1)


@dataclass(frozen=True, slots=True)
class _Down:
    high: float
    top: float
    bottom: float

    def __call__(self, share: float) -> float:
        return round(self.bottom - share / self.high * (self.bottom - self.top), 1)


def _stairs(points: Sequence[OperatingPoint]) -> list[tuple[float, float]]:
    stairs: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: point.seconds):
        if not stairs or point.accuracy > stairs[-1][1]:
            stairs.append((point.seconds, point.accuracy))
    return stairs


def _path(stairs: Sequence[tuple[float, float]], end: float, across: _Across, down: _Down) -> str:
    if not stairs:
        return ""
    parts = [f"M{across(stairs[0][0])} {down(stairs[0][1])}"]
    parts += [f"H{across(seconds)}V{down(share)}" for seconds, share in stairs[1:]]
    return "".join([*parts, f"H{across(end)}"])


def _area(
    before: Sequence[tuple[float, float]],
    after: Sequence[tuple[float, float]],
    across: _Across,
    down: _Down,
) -> str:
    """Between the two stairs, where latency counts."""
    ends = (SHORTEST_BUDGET_SECONDS, LONGEST_BUDGET_SECONDS)
    edges = sorted({*ends, *(min(max(one, ends[0]), ends[1]) for one, _ in [*before, *after])})
    parts = []
    for start, end in pairwise(edges):
        low, high = _height(before, start), _height(after, start)
        if high > low:
            parts.append(f"M{across(start)} {down(low)}V{down(high)}H{across(end)}V{down(low)}Z")
    return "".join(parts)


def _height(stairs: Sequence[tuple[float, float]], seconds: float) -> float:
    return max((share for start, share in stairs if start <= seconds), default=0.0)


def _along(
    stairs: Sequence[tuple[float, float]], end: float, across: _Across, down: _Down
) -> list[tuple[float, float]]:
    """Points along the stairs, close enough that no label slips between two."""
    points = []
    for (seconds, share), (until, rise) in pairwise([*stairs, (end, stairs[-1][1])] if stairs else []):
        x0, x1, y0, y1 = across(seconds), across(until), down(share), down(rise)
        points += [(x0 + (x1 - x0) * part / 40, y0) for part in range(41)]
        points += [(x1, y0 + (y1 - y0) * part / 20) for part in range(21)]
    return points


def _marks(
    labels: Sequence[_Label],
    across: _Across,
    down: _Down,
    width: int,
    lines: Sequence[tuple[float, float]],
) -> list[Mark]:
    """Each label where it covers least: another one or a point, the edge, a line."""
    centres = [(across(label.seconds), down(label.share)) for label in labels]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in centres]
    marks = []
    for label, (x, y) in zip(labels, centres, strict=True):
        name = label.name if len(label.name) <= _LONGEST else f"{label.name[: _LONGEST - 1]}…"
        value = f"{100 * label.share:.1f} % at {label.seconds:.3g} s"
        wide = _LETTER * max(len(name), len(value))
        places: list[tuple[float, str, float, float, tuple[float, float, float, float]]] = []
        for anchor, dx, dy in _PLACES:
            left = {"start": x + dx, "end": x + dx - wide, "middle": x - wide / 2}[anchor]
            box = (left, y + dy - _LINE + 2, left + wide, y + dy + _LINE + 2)
            outside = sum(
                max(0.0, over) for over in (_LEFT - box[0], box[2] - width, -box[1], box[3] - down.bottom)
            )
            crossed = sum(box[0] < u < box[2] and box[1] < v < box[3] for u, v in lines)
            cost: float = sum(_overlap(box, other) for other in taken) + 40 * outside + 12 * crossed
            places.append((cost + len(places), anchor, dx, dy, box))
        _, anchor, dx, dy, box = min(places, key=lambda place: place[0])
        taken.append(box)
        interval = label.interval
        marks.append(
            Mark(
                x=x,
                y=y,
                own=label.own,
                label=name,
                value=value,
                label_x=round(x + dx, 1),
                label_y=round(y + dy, 1),
                anchor=anchor,
                low=down(interval.low) if interval else None,
                high=down(interval.high) if interval else None,
            )
        )
    return marks


_PLACES: list[tuple[str, float, float]] = [
    (anchor, dx, dy)
    for far in (1, 2.4)
    for anchor, dx, dy in (
        ("start", 11, -1 if far == 1 else 26),
        ("end", -11, -1 if far == 1 else 26),
        ("middle", 0, -22 * far),
        ("middle", 0, 20 * far),
        ("start", 9, -20 * far),
        ("end", -9, -20 * far),
        ("start", 9, 18 * far),
        ("end", -9, 18 * far),
    )
]


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0
