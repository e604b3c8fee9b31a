"""An action is shown with the line of the element it touched, and with nothing where that is not certain."""

import pytest

from manifests.annotation import element_ids, tree_line
from manifests.model import Convention, State, Trajectory
from manifests.state_files import annotated_actions

TREE = "RootWebArea 'Orders', focused\n\t[12] navigation '', visible\n\t\t[a324] button 'Export', clickable\n"


@pytest.mark.parametrize(
    ("action", "ids"),
    [
        ("click('a324')", ["a324"]),
        ('fill("13", "x")', ["13"]),
        ("fill('13', '42')", ["13"]),
        ("drag_and_drop('a1','b2')", ["a1", "b2"]),
        ("click(42)", ["42"]),
        ("Click [12]", ["12"]),
        ("type [12] [hello] [1]", ["12"]),
        ('web_browser_click({"element_id": 151})', ["151"]),
        ("select_option('a3', 'Red')", ["a3"]),
        ("scroll(0, 300)", []),
        ("mouse_click(10, 20)", []),
        ("click(10, 20)", []),
        ("wait(3)", []),
        ("keyboard_type('12')", []),
        ("send_msg_to_user('12')", []),
        ("goto('http://a.example/12')", []),
        ("Click at (941, 746)", []),
        ("sed -n '12p' file", []),
        ("", []),
    ],
)
def test_which_elements_an_action_names(action: str, ids: list[str]) -> None:
    assert element_ids(action) == ids


def test_a_line_is_found_by_the_id_it_begins_with() -> None:
    assert tree_line(TREE, "a324") == "[a324] button 'Export', clickable"
    assert tree_line(TREE, "324") is None
    assert tree_line("\tlink 'see [a324] there'\n\t[a324] link 'x'", "a324") == "[a324] link 'x'"
    assert tree_line("link 'see [a324] there'", "a324") is None


def annotated(convention: Convention, *steps: tuple[str, str]) -> list[str]:
    states = [State(i, i, "", action, "", tree, None) for i, (action, tree) in enumerate(steps)]
    return annotated_actions(Trajectory("t", "", "", "", None, states), convention)


def test_an_element_is_looked_up_in_its_own_state_else_in_the_nearest_before() -> None:
    actions = annotated(
        Convention.SOURCE,
        ("noop()", "[1] link 'first'\n[2] link 'older'"),
        ("click('1')", "[1] link 'own'\n[2] link 'nearer'"),
        ("click('2')", "[1] link 'last'"),
        ("click('7')", "[7x] link 'other'"),
    )
    assert actions == [
        "noop()",
        "click('1')  # [1] link 'own'",
        "click('2')  # [2] link 'nearer'",
        "click('7')",
    ]


def test_in_destination_form_the_page_before_is_where_the_action_was_done() -> None:
    actions = annotated(
        Convention.DESTINATION,
        ("", "[1] link 'Orders'"),
        ("click('1')", "[1] heading 'All orders'\n[2] link 'new'"),
        ("click('2')", "[3] link 'x'"),
        ("click('3')", "[4] link 'y'"),
    )
    assert actions == [
        "",
        "click('1')  # [1] link 'Orders'",
        "click('2')  # [2] link 'new'",
        "click('3')  # [3] link 'x'",
    ]


def test_two_elements_are_both_shown() -> None:
    tree = "[a1] listitem 'From'\n[b2] listitem 'To'"
    assert annotated(Convention.SOURCE, ("drag_and_drop('a1','b2')", tree)) == [
        "drag_and_drop('a1','b2')  # [a1] listitem 'From' -> [b2] listitem 'To'"
    ]
