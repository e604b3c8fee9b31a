"""The frontier as lines and marks of an inline SVG, which takes its colours from the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evals.frontier.frontier import Frontier
from evals.report.label_places import Segment, Wanted, places
from evals.scoring.lafs import LONGEST_BUDGET_SECONDS, SHORTEST_BUDGET_SECONDS, OperatingPoint
from evals.statistics.intervals import Interval

_TICKS = tuple(digit * 10.0**power for power in range(-4, 5) for digit in (1, 2, 5))
_ROOM = 42
"""Between two ticks, so that their names stand apart."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 18, 40
_MOST_TENTHS = 5
"""Above so many tenths on an axis it names every second one."""
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
    leader: Segment | None
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
    uncounted: list[tuple[float, float]]
    """From where to where latency does not count; nothing where the measure is no accuracy."""
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
    counted = (SHORTEST_BUDGET_SECONDS, LONGEST_BUDGET_SECONDS) if published else ()
    latencies = [*counted, *(max(point.seconds, _TICKS[0]) for point in points)]
    across = _Across(math.log(min(latencies) / 1.7), math.log(max(latencies) * 3), _LEFT, width - _RIGHT)
    highs = [point.accuracy for point in points]
    highs += [point.interval.high for _, point in own if point.interval]
    lows = [point.accuracy for point in points]
    lows += [point.interval.low for _, point in own if point.interval]
    down = _Down(
        max(0.0, math.floor(10 * min(lows) - 0.5) / 10),
        min(1.0, math.ceil(10 * max(highs) + 0.4) / 10),
        _TOP,
        height - _BOTTOM,
    )
    stairs_before = _stairs([point for _, point in published])
    stairs_after = _stairs(points)
    end = math.exp(across.high)
    labels = [_Label(name, point.seconds, point.accuracy, False) for name, point in published]
    labels += [_Label(name, point.seconds, point.value, True, point.interval) for name, point in own]
    lines = [
        line for stairs in (stairs_before, stairs_after) for line in _segments(stairs, end, across, down)
    ]
    lines += [
        (across(one.seconds), down(one.interval.high), across(one.seconds), down(one.interval.low))
        for one in labels
        if one.interval
    ]
    grid: list[Segment] = [(_LEFT, y, width - _RIGHT, y) for y, _ in down.ticks]
    return Drawing(
        width=width,
        height=height,
        left=_LEFT,
        right=width - _RIGHT,
        top=_TOP,
        bottom=height - _BOTTOM,
        x_ticks=across.ticks,
        y_ticks=down.ticks,
        uncounted=[
            (_LEFT, across(SHORTEST_BUDGET_SECONDS)),
            (across(LONGEST_BUDGET_SECONDS), width - _RIGHT),
        ]
        if published
        else [],
        before=_path(stairs_before, end, across, down),
        after=_path(stairs_after, end, across, down),
        gained=_area(stairs_before, stairs_after, across, down) if published else "",
        marks=_marks(labels, across, down, lines, grid),
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
        part = (math.log(max(seconds, _TICKS[0])) - self.low) / (self.high - self.low)
        return round(self.left + part * (self.right - self.left), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round latencies with their names, or powers of ten alone where these have no room."""
        ticks = [tick for tick in _TICKS if self.low <= math.log(tick) <= self.high]
        narrow = (self.right - self.left) / (self.high - self.low) * math.log(2) < _ROOM
        return [(self(tick), f"{tick:g} s") for tick in ticks if not narrow or f"{tick:e}"[0] == "1"]


@dataclass(frozen=True, slots=True)
class _Down:
    low: float
    high: float
    top: float
    bottom: float

    def __call__(self, share: float) -> float:
        part = (share - self.low) / (self.high - self.low)
        return round(self.bottom - part * (self.bottom - self.top), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Every tenth with its name, or every second one on a long axis."""
        first, last = round(10 * self.low), round(10 * self.high)
        every = 1 if last - first <= _MOST_TENTHS else 2
        return [(self(step / 10), f"{10 * step} %") for step in range(first, last + 1) if step % every == 0]


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


def _segments(
    stairs: Sequence[tuple[float, float]], end: float, across: _Across, down: _Down
) -> list[Segment]:
    """The level and upright parts of stairs, up to the right edge."""
    found: list[Segment] = []
    for (seconds, share), (until, rise) in pairwise([*stairs, (end, stairs[-1][1])] if stairs else []):
        x0, x1, y0, y1 = across(seconds), across(until), down(share), down(rise)
        found += [(x0, y0, x1, y0), (x1, min(y0, y1), x1, max(y0, y1))]
    return found


def _marks(
    labels: Sequence[_Label],
    across: _Across,
    down: _Down,
    lines: Sequence[Segment],
    faint: Sequence[Segment],
) -> list[Mark]:
    wanted = []
    for label in labels:
        name = label.name if len(label.name) <= _LONGEST else f"{label.name[: _LONGEST - 1]}…"
        value = f"{100 * label.share:.1f} % at {label.seconds:.3g} s"
        wanted.append(Wanted(across(label.seconds), down(label.share), (name, value), label.own))
    inside = (across.left, down.top - _TOP, across.right + _RIGHT, down.bottom)
    return [
        Mark(
            x=one.x,
            y=one.y,
            own=label.own,
            label=one.lines[0],
            value=one.lines[1],
            label_x=place.x,
            label_y=place.y,
            anchor=place.anchor,
            leader=place.leader,
            low=down(label.interval.low) if label.interval else None,
            high=down(label.interval.high) if label.interval else None,
        )
        for label, one, place in zip(labels, wanted, places(wanted, lines, faint, inside), strict=True)
    ]
