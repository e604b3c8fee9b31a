"""How much of everything a report can show: what a question takes shrinks as questions grow in number."""

from dataclasses import dataclass

REPORT_BYTES = 25_000_000
_AROUND = 1_500_000
"""Kept free for the summary, the style and what rounding costs."""
_MOST = 420_000
"""Of one question, however few there are."""
_MARKUP = 0.20
"""The share of a question's room that its markup takes."""
ITEM_BYTES = 2048
MOST_PICTURES = 8


@dataclass(frozen=True, slots=True)
class Room:
    """What one question of one run may take, in bytes as they stand in the file; `steps` is a number."""

    pictures: int
    note: int
    response: int
    context: int
    """Of all items that the reader saw together; one item takes at most 2 KB."""
    steps: int
    """Of the timelines of all attempts together."""
    step: int
    """Of the command, and of its output, of one step."""
    diff: int
    states: int
    """Of what the evidence's states say of themselves."""


def room_for(chapters: int) -> Room:
    """The room of one question where the report has so many (of two runs, each counts)."""
    whole = min(_MOST, (REPORT_BYTES - _AROUND) // max(chapters, 1))
    text = whole * (1 - _MARKUP)
    return Room(
        pictures=int(text * 0.44),
        note=int(text * 0.05),
        response=int(text * 0.06),
        context=int(text * 0.16),
        steps=min(60, max(6, int(text * 0.17 / 480))),
        step=min(600, max(90, int(text * 0.17 / 160))),
        diff=int(min(8192, text * 0.03)),
        states=int(text * 0.06),
    )


WHOLE = Room(pictures=0, note=0, response=0, context=0, steps=5000, step=0, diff=0, states=0)
"""For a folder, where texts are whole and pictures are files; only timelines have an end."""


def shares(sizes: list[int], total: int, most: int) -> list[int]:
    """How much each of some texts may take: short ones stay whole, long ones share what is left."""
    wanted = [min(size, most) for size in sizes]
    left, given = total, [0] * len(sizes)
    for number, (size, place) in enumerate(sorted((size, place) for place, size in enumerate(wanted))):
        given[place] = min(size, left // (len(sizes) - number))
        left -= given[place]
    return given
