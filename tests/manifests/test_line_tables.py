"""A table of lines tells exactly which states show which line, alone and merged with others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.line_tables import LineTable, line_table, merged

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
    again = LineTable.from_bytes(table.to_bytes())
    assert states_of(again, len(shown)) == told_simply(shown)


@given(st.lists(SHOWN, min_size=1, max_size=4))
def test_a_merged_table_tells_the_same_of_each_trajectory(recordings: list[list[list[int]]]) -> None:
    tables, sizes = [table_of(shown) for shown in recordings], [len(shown) for shown in recordings]
    bits, buckets = merged(tables, sizes)
    found: dict[tuple[int, int], list[int]] = {}
    ranges = [one for table in tables for one in table.ranges]
    firsts = np.cumsum([0, *sizes])
    owners = [owner for owner, table in enumerate(tables) for _ in table.ranges]
    for number, entries in buckets:
        lows, places = np.frombuffer(entries, "<u4").reshape(2, -1).tolist()
        assert lows == sorted(lows)
        for low, place in zip(lows, places, strict=True):
            key = (number << 32 | low) >> bits
            if place < firsts[-1]:
                owner = int(np.searchsorted(firsts, place, "right")) - 1
                states = [place - int(firsts[owner])]
            else:
                owner = owners[place - firsts[-1]]
                states = spelled_out(ranges[place - firsts[-1]])
            found.setdefault((key, owner), []).extend(states)
    expected: dict[tuple[int, int], list[int]] = {}
    for owner, shown in enumerate(recordings):
        for key, states in told_simply(shown).items():
            expected.setdefault((key >> 32, owner), []).extend(states)
    assert {one: sorted(states) for one, states in found.items()} == {
        one: sorted(states) for one, states in expected.items()
    }


def test_menus_cost_one_range_however_many_lines_they_have() -> None:
    menu = list(range(1000))
    table = table_of([[*menu, 5000 + state] for state in range(30)])
    assert table.ranges == ["0-29"]


def test_a_table_cut_off_anywhere_is_refused() -> None:
    whole = table_of([[1, 2, 3], [2, 3], [1, 3]]).to_bytes()
    for left in range(len(whole)):
        with pytest.raises(ValueError, match=r"cut off|buffer"):
            LineTable.from_bytes(whole[:left])
