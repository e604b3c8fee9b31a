"""New lines are those that no earlier state showed, element ids and indents aside."""

import re

from hypothesis import given
from hypothesis import strategies as st

from manifests.new_lines import distinct_lines, new_lines

WORDS = st.sampled_from(
    ["link 'Orders'", "button 'Export'", "[user] Hi", "StaticText '3'", "x  ", "", "[12]", "a[1] b"]
)
LINE = st.builds(
    lambda indent, mark, words, end: f"{indent}{mark}{words}{end}",
    st.sampled_from(["", "\t", "\t\t", "  "]),
    st.sampled_from(["", "[1] ", "[12] ", "[a324] ", "[b7]"]),
    WORDS,
    st.sampled_from(["", "", "", " ", "\t"]),
)
OBSERVATIONS = st.lists(st.lists(LINE, max_size=8).map("\n".join), min_size=1, max_size=5)


def told_simply(observations: list[str]) -> list[set[str]]:
    """What new_lines does, one line at a time."""
    seen: set[str] = {""}
    found = []
    for text in observations:
        bare = {
            re.sub(r"^[ \t]*(\[[A-Za-z]{0,3}\d+\][ \t]*)?", "", line).rstrip(" \t")
            for line in text.split("\n")
        }
        found.append(bare - seen)
        seen |= bare
    return found


def states_of(found: list[str]) -> list[list[str]]:
    return [text.split("\n") if text else [] for text in found]


@given(OBSERVATIONS)
def test_they_are_what_a_plain_comparison_finds(observations: list[str]) -> None:
    states = states_of(new_lines(map(distinct_lines, observations)))
    assert [set(lines) for lines in states] == told_simply(observations)
    assert all(len(lines) == len(set(lines)) for lines in states)


def test_a_menu_that_comes_back_with_other_ids_counts_once_and_order_stays() -> None:
    menu = [f"link 'Menu {i}'" for i in range(200)]

    def page(title: str, first_id: int, body: str) -> str:
        return "\n".join([title, *(f"\t[{first_id + i}] {line}" for i, line in enumerate(menu)), body])

    pages = [
        page("A", 1, "\t[900] cell 'x'"),
        page("B", 1, "\t[900] cell 'y'"),
        page("C", 7, "\t[7] cell 'x'"),
    ]
    assert states_of(new_lines(map(distinct_lines, pages))) == [
        ["A", *menu, "cell 'x'"],
        ["B", "cell 'y'"],
        ["C"],
    ]
