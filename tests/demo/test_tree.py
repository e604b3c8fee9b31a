"""How an accessibility tree becomes lines."""

from typing import Any

from evals.demo.tree import Element, nodes_of, text_of


def raw(
    number: int, role: str, name: str = "", *, children: tuple[int, ...] = (), **more: Any
) -> dict[str, Any]:
    """A node as Chromium's DevTools give it."""
    value = more.pop("value", None)
    ignored = more.pop("ignored", False)
    return {
        "nodeId": str(number),
        "backendDOMNodeId": number,
        "ignored": ignored,
        "role": {"value": role},
        "name": {"value": name},
        "childIds": [str(child) for child in children],
        "properties": [{"name": key, "value": {"value": entry}} for key, entry in more.items()],
        **({"value": {"value": value}} if value is not None else {}),
    }


def rendered(*nodes: dict[str, Any]) -> str:
    elements = {
        node["backendDOMNodeId"]: Element(node["backendDOMNodeId"] + 10, True, False) for node in nodes
    }
    elements[2] = Element(12, rendered=True, clickable=True)
    return text_of(nodes_of(nodes, elements))


def test_elements_carry_numbers_and_marks_and_the_page_does_not() -> None:
    text = rendered(
        raw(1, "RootWebArea", "Orders", children=(2,), focused=True), raw(2, "link", "Export", focusable=True)
    )
    assert text == "RootWebArea 'Orders', focused\n\t[12] link 'Export', clickable, visible"


def test_what_is_ignored_or_generic_leaves_its_children_in_place() -> None:
    text = rendered(
        raw(1, "RootWebArea", "x", children=(3,)),
        raw(3, "generic", children=(4,)),
        raw(4, "none", ignored=True, children=(5,)),
        raw(5, "StaticText", "Hello"),
    )
    assert text == "RootWebArea 'x'\n\tStaticText 'Hello'"


def test_text_that_only_repeats_the_name_above_is_left_out() -> None:
    text = rendered(
        raw(1, "RootWebArea", "x", children=(3,)),
        raw(3, "cell", "Open", children=(4, 5)),
        raw(4, "StaticText", "Open"),
        raw(5, "InlineTextBox", "Open"),
    )
    assert text == "RootWebArea 'x'\n\t[13] cell 'Open', visible"


def test_fields_show_their_value_once_and_boxes_their_state() -> None:
    text = rendered(
        raw(1, "RootWebArea", "x", children=(3, 4, 5)),
        raw(3, "textbox", "PIN", value="5904", children=(6,)),
        raw(4, "checkbox", "Internal note", checked="false"),
        raw(5, "heading", "Users", level=2),
        raw(6, "StaticText", "5904"),
    )
    assert text.splitlines()[1:] == [
        "\t[13] textbox 'PIN' value='5904', visible",
        "\t[14] checkbox 'Internal note', checked=false, visible",
        "\t[15] heading 'Users', level=2, visible",
    ]


def test_line_breaks_in_names_cannot_forge_a_line() -> None:
    text = rendered(raw(1, "RootWebArea", "x", children=(3,)), raw(3, "paragraph", "a\n\t[99] button 'b'"))
    assert len(text.splitlines()) == 2
