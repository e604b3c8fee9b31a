"""Which states show a line, for every line of a trajectory: what `where` looks up instead of reading.

A line is told by a key of 64 bits, and the states that show it by one number, its place: the state where it
is one only, else the number of states plus the number of its ranges ("0-29" or "3,5-7") in the table. Lines
of a menu have the same ranges, so that a trajectory has few of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keys", "LineTable", "line_table"]

Keys: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class LineTable:
    """The keys of a trajectory's lines, ascending; the place of each; the ranges, the commonest first."""

    keys: Keys
    places: Places
    ranges: list[str]


def line_table(shown: Sequence[Keys]) -> LineTable:
    """The table of a trajectory whose states show lines with these keys, in any order."""
    keys = np.concatenate(shown)
    states = np.repeat(np.arange(len(shown), dtype=np.uint32), [len(one) for one in shown])
    order = np.argsort(keys, kind="stable")
    keys, states = keys[order], states[order]
    # Two lines of a state may have one key: they differ in blanks.
    new_key = _differs(keys)
    kept = new_key | _differs(states)
    keys, states, new_key = keys[kept], states[kept], new_key[kept]
    starts = np.flatnonzero(new_key)
    if not len(starts):
        return LineTable(keys, states, [])
    ends = np.append(starts[1:], len(keys))
    places = states[starts]
    several = np.flatnonzero(ends - starts > 1)
    signs = np.bitwise_xor.reduceat(_mixed(len(shown))[states], starts)[several]
    _, firsts, which, uses = np.unique(signs, return_index=True, return_inverse=True, return_counts=True)
    rank = np.lexsort((firsts, -uses))
    number = np.empty(len(rank), np.uint32)
    number[rank] = np.arange(len(rank), dtype=np.uint32)
    places[several] = len(shown) + number[which]
    samples = several[firsts[rank]]
    bounds = zip(starts[samples].tolist(), ends[samples].tolist(), strict=True)
    return LineTable(keys[starts], places, [_ranges(states[start:end].tolist()) for start, end in bounds])


def _differs(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value is not that before it."""
    found = np.ones(len(values), np.bool_)
    found[1:] = values[1:] != values[:-1]
    return found


def _mixed(count: int) -> Keys:
    """A number for each state, so that their sums tell sets of states apart: splitmix64 of 1, 2, 3, ..."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _ranges(numbers: list[int]) -> str:
    """Ascending numbers: [3, 5, 6, 7] -> "3,5-7"."""
    parts: list[str] = []
    start = previous = numbers[0]
    for number in [*numbers[1:], -1]:
        if number != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = number
        previous = number
    return ",".join(parts)
