"""States are found under every name that an agent may give them."""

import pytest

from evals.traces.addresses import MOST_STATES, Names, State, opened_states
from evals.traces.shell import simple_commands

NAMES = Names({"shop-0123456789": "tr-shop", "shop-9876543210": "tr-shopping", "mail-abcdef0123": "x"})


@pytest.mark.parametrize(
    ("command", "states"),
    [
        ("sed -n 1,9p /w/haystack/trajectories/mail-abcdef0123/0012.txt", {("x", 12)}),
        ("file haystack/trajectories/mail-abcdef0123/0012.agent.png", {("x", 12)}),
        ("./memory state mail 12", {("x", 12)}),
        ("memory state mail-abcdef0123:12 --find foo", {("x", 12)}),
        ("memory diff tr-shop 1 4", {("tr-shop", 1), ("tr-shop", 4)}),
        ("memory image tr-shopping 2 --scale 3", {("tr-shopping", 2)}),
        ("memory span x 2:4 | head", {("x", 2), ("x", 3), ("x", 4)}),
        ("memory state shop 1", set()),  # two trajectories begin so
        ("memory state mai 1", set()),  # too short
        ("memory search mail 12", set()),
        ("memory state", set()),
        ("memory state mail nine", set()),
        ("cat haystack/trajectories/gone-0000000000/0001.txt", set()),
        ("python3 - <<'E'\nopen('haystack/trajectories/mail-abcdef0123/0003.txt')\nE", {("x", 3)}),
    ],
)
def test_a_command_opens_the_states_it_names(command: str, states: set[State]) -> None:
    assert opened_states(simple_commands(command), "", NAMES) == states


def test_a_file_tool_opens_the_state_in_its_arguments() -> None:
    arguments = '{"file_path":"/w/haystack/trajectories/shop-9876543210/0000.txt"}'
    assert opened_states([], arguments, NAMES) == {("tr-shopping", 0)}


def test_a_range_of_any_length_names_a_bounded_number_of_states() -> None:
    found = opened_states(simple_commands("memory span x 0:999999"), "", NAMES)
    assert len(found) == MOST_STATES + 1
