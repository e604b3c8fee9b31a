"""The numbers behind the charts: where each bar, slice and line goes. The templates draw them."""

import json
import math
from dataclasses import dataclass

PLOT_HEIGHT = 200
BAR_STEP = 96
RADIUS = 90
COLOURS = {"P1": "#b3372f", "P2": "#d98a2b", "P3": "#2f7f79", "P4": "#8a94a6"}


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: int
    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Slice:
    label: str
    share: int
    colour: str
    path: str
    """An SVG path of the ring's segment, around the origin."""
    text_x: int
    text_y: int


def bars(values: dict[str, int]) -> list[Bar]:
    """Bars for a plot of PLOT_HEIGHT units, the highest one almost filling it."""
    scale = (PLOT_HEIGHT - 20) / max(values.values())
    return [
        Bar(label, value, 60 + place * BAR_STEP, PLOT_HEIGHT - round(value * scale), round(value * scale))
        for place, (label, value) in enumerate(values.items())
    ]


def slices(shares: dict[str, int]) -> list[Slice]:
    """Segments of a ring, clockwise from the top. Shares are percentages and add up to 100."""
    result = []
    start = 0.0
    for label, share in shares.items():
        end = start + share / 100
        middle = point((start + end) / 2, RADIUS * 0.78)
        first, last = point(start, RADIUS), point(end, RADIUS)
        inner_last, inner_first = point(end, RADIUS * 0.55), point(start, RADIUS * 0.55)
        large = int(share > 50)
        path = (
            f"M{first[0]} {first[1]} A{RADIUS} {RADIUS} 0 {large} 1 {last[0]} {last[1]} "
            f"L{inner_last[0]} {inner_last[1]} "
            f"A{RADIUS * 0.55} {RADIUS * 0.55} 0 {large} 0 {inner_first[0]} {inner_first[1]} Z"
        )
        result.append(Slice(label, share, COLOURS[label], path, round(middle[0]), round(middle[1])))
        start = end
    return result


def point(turn: float, radius: float) -> tuple[float, float]:
    """The point at a part of a full turn, clockwise from the top."""
    angle = turn * 2 * math.pi
    return round(math.sin(angle) * radius, 2), round(-math.cos(angle) * radius, 2)


def chart_data(series: dict[str, list[int]]) -> str:
    """What static/chart.js needs to draw one line per team."""
    return json.dumps(series)
