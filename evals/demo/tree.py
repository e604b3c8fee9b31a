"""Writes Chromium's accessibility tree as text, one node per line, elements named by a number in brackets.

    RootWebArea 'Log in | Quillbrook Desk', focused
        [14] textbox 'User name', clickable, visible
        [16] button 'Log in', clickable, visible

The number of an element is its place in the document, so the same page always gives the same numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PASSED_OVER = {"generic", "none", "LabelText", "MenuListPopup"}
LEFT_OUT = {"InlineTextBox", "LineBreak"}
FIELDS = {"textbox", "searchbox"}
"""Their text is their value, so what is inside them is not written again."""
FLAGS = ("focused", "selected", "disabled", "required", "multiline")
VALUES = ("checked", "expanded", "invalid")
UNREMARKABLE = {"false", "False"}


@dataclass(frozen=True, slots=True)
class Element:
    """What the page says about one of its elements."""

    number: int
    rendered: bool
    clickable: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree. `number` is None for text and for the page itself."""

    depth: int
    role: str
    name: str
    number: int | None
    line: str


def nodes_of(raw: Sequence[Mapping[str, Any]], elements: Mapping[int, Element]) -> list[Node]:
    """The lines of a tree.

    Args:
        raw: `nodes` as answered by the DevTools call Accessibility.getFullAXTree.
        elements: by backend node id.
    """
    by_id = {node["nodeId"]: node for node in raw}
    return list(walk(raw[0], by_id, elements, depth=0, above=""))


def text_of(nodes: Sequence[Node]) -> str:
    return "\n".join("\t" * node.depth + node.line for node in nodes)


def walk(
    raw: Mapping[str, Any],
    by_id: Mapping[str, Mapping[str, Any]],
    elements: Mapping[int, Element],
    depth: int,
    above: str,
) -> Iterator[Node]:
    role = str(raw.get("role", {}).get("value", ""))
    name = " ".join(str(raw.get("name", {}).get("value", "")).split())
    if role in LEFT_OUT or (role == "StaticText" and name in ("", above)):
        return
    if not raw.get("ignored") and role not in PASSED_OVER:
        element = elements.get(raw.get("backendDOMNodeId", -1))
        number = element.number if element and role != "RootWebArea" else None
        yield Node(depth, role, name, number, line(raw, role, name, element))
        depth, above = depth + 1, name
    if role in FIELDS:
        return
    for child in raw.get("childIds", ()):
        if child in by_id:
            yield from walk(by_id[child], by_id, elements, depth, above)


def line(raw: Mapping[str, Any], role: str, name: str, element: Element | None) -> str:
    if role == "StaticText":
        return f"StaticText {name!r}"
    properties = {entry["name"]: str(entry["value"].get("value", "")) for entry in raw.get("properties", ())}
    marks = [flag for flag in FLAGS if properties.get(flag) in ("true", "True")]
    marks += [
        f"{key}={properties[key]}" for key in VALUES if properties.get(key, "false") not in UNREMARKABLE
    ]
    if properties.get("checked") == "false":
        marks.append("checked=false")
    if role == "heading":
        marks.append(f"level={properties.get('level')}")
    head = f"{role} {name!r}"
    if raw.get("value", {}).get("value") not in (None, ""):
        head += f" value={str(raw['value']['value'])!r}"
    if role == "RootWebArea":
        return ", ".join([head, *marks])
    if element is None:
        return head
    marks += ["clickable"] * element.clickable + ["visible"] * element.rendered
    return ", ".join([f"[{element.number}] {head}", *marks])
