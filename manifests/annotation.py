"""Which element an action touched: the line of the accessibility tree that carries the id it names."""

import re

LONGEST = 300  # characters of a tree line worth repeating beside an action

# Other calls take texts, keys, numbers of tabs and coordinates: wait(3), scroll(0, 300), mouse_click(10, 20).
_TOUCHING = re.compile(
    r"click|hover|fill|clear|check|select|focus|press|upload|drag|type|input|tap|toggle", re.I
)
_FREE = re.compile(r"mouse|keyboard", re.I)
# click('a324')  fill('13', 'x')  click(42)  web_click({"element_id": 151})
_QUOTED = re.compile(r"""\s*(\w+)\s*\(\s*(?:\{\s*"\w+"\s*:\s*)?(["'])([A-Za-z]{0,3}\d+)\2\s*[,)}]""")
_NUMBER = re.compile(r"""\s*(\w+)\s*\(\s*(?:\{\s*"\w+"\s*:\s*)?()(\d+)\s*(?:[)}]|,\s*["'])""")
_SECOND = re.compile(r""",\s*(["'])([A-Za-z]{0,3}\d+)\1\s*[,)]""")
# click [12]  type [12] [some text]
_BRACKET = re.compile(r"\s*[A-Za-z_]+ *\[([A-Za-z]{0,3}\d+)\]")


def element_ids(action: str) -> list[str]:
    """The element ids that an action names, in order; values that only look like ids are left out."""
    call = _QUOTED.match(action) or _NUMBER.match(action)
    if call:
        name = call.group(1)
        if not _TOUCHING.search(name) or _FREE.search(name):
            return []
        ids = [call.group(3)]
        if "drag" in name and (second := _SECOND.match(action, call.end() - 1)):
            ids.append(second.group(2))
        return ids
    bracket = _BRACKET.match(action)
    return [bracket.group(1)] if bracket else []


def tree_line(tree: str, element: str) -> str | None:
    """The line of `tree` that begins with `[element]`, without its indent."""
    mark = f"[{element}]"
    at = tree.find(mark)
    while at >= 0:
        start = tree.rfind("\n", 0, at) + 1
        if not tree[start:at].strip():
            end = tree.find("\n", at)
            return tree[at : end if end >= 0 else len(tree)].rstrip()[:LONGEST]
        at = tree.find(mark, at + 1)
    return None


def annotation(action: str, trees: list[str]) -> str:
    """The tree lines of the elements an action names, "" where none is found.

    `trees` are the observations to look into, the likeliest last (a state's own after those before it).
    """
    lines = []
    for element in element_ids(action):
        found = next((line for tree in reversed(trees) if (line := tree_line(tree, element))), None)
        if found:
            lines.append(found)
    return " -> ".join(lines)
