"""What a glance at a line's ends tells is what reading all of it tells."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifests.convention import own_convention
from manifests.peek import peek
from manifests.records import read_record
from tests.manifests.recordings import record, state

TRICKY = st.sampled_from(['}, {"action": "x"}', "}]}", '"states": [', "plain", '{"', "}],", "}]"])
NESTED = st.recursive(
    TRICKY | st.none(), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TRICKY, inner, max_size=2)
)
STATES = st.lists(
    st.builds(
        lambda action, text, extra: {"action": action, "text": text, "extra": extra},
        st.none() | TRICKY,
        TRICKY,
        NESTED,
    ),
    min_size=1,
    max_size=4,
)


@given(states=STATES, extra=NESTED, last=st.booleans(), legacy=st.booleans(), spaced=st.booleans())
def test_a_glance_never_contradicts_a_reading(
    states: list[Any], extra: Any, last: bool, legacy: bool, spaced: bool
) -> None:
    raw = {"id": "t", "content" if legacy else "states": states}
    raw = {**raw, "extra": extra} if last else {"extra": extra, **raw}
    line = json.dumps(raw, separators=None if spaced else (",", ":")).encode()
    seen = peek(line)
    if seen is not None:
        trajectory = read_record(line, "f:1")[0]
        assert (seen.id, seen.convention) == (trajectory.id, own_convention(trajectory))


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_glance_is_enough_for_the_usual_line(separators: tuple[str, str]) -> None:
    raw = record("t", state(action="a"), state(action="b"), state())
    assert peek(json.dumps(raw, separators=separators).encode()) is not None
