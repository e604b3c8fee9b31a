"""Where the labels of a drawing stand: beside their points, and on nothing that they would hide."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

LETTER = 6.4
"""Width of a letter, in units of the drawing; a bold one is wider."""
_BOLD = 1.12
LINE = 13
"""Height of one of a label's two lines."""
_ASCENT = 11
_MARK = 8.0
"""Half the side of the square that a point takes."""
_NEAR, *_FAR = (11, 20, 32, 46, 62)
"""Distances of a label from its point."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Segment = tuple[float, float, float, float]
"""From x, y to x, y; level or upright, the smaller end first."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A label of two lines that belongs to a point."""

    x: float
    y: float
    lines: tuple[str, str]
    bold: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a label stands: the beginning, middle or end of its first line, as `anchor` says."""

    x: float
    y: float
    anchor: str
    leader: Segment | None
    """A line from the point, where the label stands far from it."""


def places(
    labels: Sequence[Wanted], lines: Sequence[Segment], faint: Sequence[Segment], inside: Box
) -> list[Place]:
    """The place of each label. The bold ones choose first, for they are what a reader looks for.

    Args:
        lines: what no label should hide.
        faint: what a label rather leaves free, such as a grid.
        inside: where labels have to stay.
    """
    marks = [(one.x - _MARK, one.y - _MARK, one.x + _MARK, one.y + _MARK) for one in labels]
    taken: list[Box] = []
    found: dict[int, Place] = {}
    for index in sorted(range(len(labels)), key=lambda index: not labels[index].bold):
        others = [mark for number, mark in enumerate(marks) if number != index]
        tried = []
        for rank, (place, box) in enumerate(_candidates(labels[index])):
            cost = 0.4 * rank + _cost(box, [*taken, *marks], lines, faint, inside)
            if place.leader:
                cost += 8.0 + 40.0 * sum(_is_hit(place.leader, other) for other in chain(taken, others))
                cost += 25.0 * sum(_is_crossed(place.leader, line) for line in lines)
            tried.append((cost, rank, place, box))
        _, _, found[index], box = min(tried)
        taken.append(box)
    return [found[index] for index in range(len(labels))]


_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))


def _candidates(label: Wanted) -> list[tuple[Place, Box]]:
    wide = LETTER * (_BOLD if label.bold else 1.0) * max(map(len, label.lines))
    high = 2 * LINE
    found = []
    for far in (_NEAR, *_FAR):
        for across, down in _DIRECTIONS:
            slant = 0.7 if across and down else 1.0
            x = label.x + across * slant * far
            middle = label.y + down * (slant * far + high / 2)
            left = {1: x, -1: x - wide, 0: x - wide / 2}[across]
            box = (left, middle - high / 2, left + wide, middle + high / 2)
            anchor = {1: "start", -1: "end", 0: "middle"}[across]
            leader = _leader(label, box) if far > _FAR[0] else None
            found.append((Place(round(x, 1), round(box[1] + _ASCENT, 1), anchor, leader), box))
    return found


def _leader(label: Wanted, box: Box) -> Segment:
    """To the point of the label that is nearest."""
    to_x = min(max(label.x, box[0]), box[2])
    to_y = min(max(label.y, box[1]), box[3])
    return (label.x, label.y, round(to_x, 1), round(to_y, 1))


def _is_hit(leader: Segment, box: Box) -> bool:
    x0, y0, x1, y1 = leader
    return any(
        box[0] < x0 + (x1 - x0) * part / 20 < box[2] and box[1] < y0 + (y1 - y0) * part / 20 < box[3]
        for part in range(1, 21)
    )


def _is_crossed(leader: Segment, line: Segment) -> bool:
    """Whether a leader runs across a line, or along it."""
    x0, y0, x1, y1 = line
    for part in range(2, 21):
        x = leader[0] + (leader[2] - leader[0]) * part / 20
        y = leader[1] + (leader[3] - leader[1]) * part / 20
        if x0 - 1.5 <= x <= x1 + 1.5 and y0 - 1.5 <= y <= y1 + 1.5:
            return True
    return False


def _cost(
    box: Box, taken: Sequence[Box], lines: Sequence[Segment], faint: Sequence[Segment], inside: Box
) -> float:
    outside = sum(
        max(0.0, over)
        for over in (inside[0] - box[0], inside[1] - box[1], box[2] - inside[2], box[3] - inside[3])
    )
    covered = sum(_overlap(box, other) for other in taken)
    hidden = sum(_within(line, box) for line in lines)
    return covered + 40 * outside + 4 * hidden + 0.06 * sum(_within(line, box) for line in faint)


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _within(line: Segment, box: Box) -> float:
    """How long the part of a level or upright line is that lies in a box."""
    x0, y0, x1, y1 = line
    across = min(x1, box[2]) - max(x0, box[0])
    down = min(y1, box[3]) - max(y0, box[1])
    return max(across, down) if across >= 0 and down >= 0 else 0.0
