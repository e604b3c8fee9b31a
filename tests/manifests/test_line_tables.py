"""A table of lines tells exactly which states show which line."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from manifests.line_tables import LineTable, line_table

# Few keys, so that states share lines, some of them alike in their first or last 32 bits.
KEYS = st.sampled_from([0, 1, 2**32, 2**32 + 1, 2**63, 2**64 - 1, 2**64 - 2**32, 12345])
SHOWN = st.lists(st.lists(KEYS, max_size=6), min_size=1, max_size=12)


def table_of(shown: list[list[int]]) -> LineTable:
    return line_table([np.array(keys, np.uint64) for keys in shown])


def states_of(table: LineTable, states: int) -> dict[int, list[int]]:
    found = {}
    for key, place in zip(table.keys.tolist(), table.places.tolist(), strict=True):
        found[key] = [place] if place < states else spelled_out(table.ranges[place - states])
    return found


def spelled_out(ranges: str) -> list[int]:
    bounds = [[int(end) for end in part.split("-")] for part in ranges.split(",")]
    return [number for bound in bounds for number in range(bound[0], bound[-1] + 1)]


def told_simply(shown: list[list[int]]) -> dict[int, list[int]]:
    return {
        key: [state for state, keys in enumerate(shown) if key in keys]
        for key in sorted({key for keys in shown for key in keys})
    }


@given(SHOWN)
def test_it_tells_the_states_of_each_line(shown: list[list[int]]) -> None:
    table = table_of(shown)
    assert states_of(table, len(shown)) == told_simply(shown)


def test_menus_cost_one_range_however_many_lines_they_have() -> None:
    menu = list(range(1000))
    table = table_of([[*menu, 5000 + state] for state in range(30)])
    assert table.ranges == ["0-29"]
