"""Figures as a reader wants them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from evals.statistics.intervals import Interval

NONE = "–"
_SPACE = "\u00a0"
"""Between a number and its unit, which stay on one line."""


def percent(share: float | None) -> str:
    """A share of 0..1 with one decimal."""
    return NONE if share is None else f"{100 * share:.1f}{_SPACE}%"


def points(share: float | None) -> str:
    """A difference of shares in points, signed."""
    return NONE if share is None else f"{100 * share:+.1f}".replace("-", "−")


def between(interval: Interval | None) -> str:
    """The ends of an interval of shares."""
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def points_between(interval: Interval | None) -> str:
    """The ends of an interval of differences, signed."""
    return "" if interval is None else f"{points(interval.low)} to {points(interval.high)}"


def seconds(value: float | None) -> str:
    """A duration in two or three digits."""
    if value is None:
        return NONE
    if 0 < value < 0.0005:
        return f"<{_SPACE}1{_SPACE}ms"
    if value < 0.0995:
        return f"{1000 * value:.0f}{_SPACE}ms"
    if value < 9.95:
        return f"{value:.1f}{_SPACE}s"
    if value < 600:
        return f"{value:.0f}{_SPACE}s"
    return f"{value / 60:.0f}{_SPACE}min" if value < 5400 else f"{value / 3600:.1f}{_SPACE}h"


def dollars(value: float | None) -> str:
    """An amount of money; small ones keep two digits that count."""
    if value is None:
        return NONE
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.2g}"


def size(count: int | None) -> str:
    """A number of bytes."""
    if count is None:
        return ""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def grouped(count: float | None) -> str:
    """A count, its thousands apart."""
    return NONE if count is None else f"{count:,.0f}".replace(",", "\u202f")


def compact(count: int) -> str:
    """A large count in two or three digits."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= 0.9995 * size:
            scaled = count / size
            return f"{scaled:.1f}{_SPACE}{letter}" if scaled < 9.95 else f"{scaled:.0f}{_SPACE}{letter}"
    return str(count)


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural by an s."""
    return f"{grouped(count)} {noun}{'' if count == 1 else 's'}"


def words(name: str) -> str:
    """A name of ours as words."""
    return name.replace("_", " ")


def clock(value: float | None) -> str:
    """Seconds from a start, as a clock tells them."""
    if value is None:
        return ""
    return f"{value:.1f}" if value < 100 else f"{int(value) // 60}:{int(value) % 60:02d}"


def day(value: str) -> str:
    """An ISO time as a date and minutes; any other text as it is."""
    try:
        return datetime.fromisoformat(value).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    except ValueError:
        return value


def p_value(value: float | None) -> str:
    """A probability."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


FORMATS: Mapping[str, Callable[..., Any]] = {
    "percent": percent,
    "points": points,
    "between": between,
    "points_between": points_between,
    "seconds": seconds,
    "dollars": dollars,
    "size": size,
    "grouped": grouped,
    "counted": counted,
    "words": words,
    "clock": clock,
    "day": day,
    "p_value": p_value,
}
