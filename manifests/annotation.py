"""Which element an action touched: the line of the accessibility tree that carries the id it names."""

import re

LONGEST = 300  # characters of a tree line worth repeating beside an action

# click('a324')  fill('13', 'x')  click(42)  web_click({"element_id": 151})
_CALL = re.compile(r"""\s*([A-Za-z_]\w*)\s*\(\s*(?:\{\s*"\w+"\s*:\s*)?["']?([A-Za-z]{0,3}\d+)["']?\s*[,)}]""")
_SECOND = re.compile(r"""\(\s*["']?[A-Za-z]{0,3}\d+["']?\s*,\s*["']?([A-Za-z]{0,3}\d+)["']?\s*[,)]""")
# click [12]  type [12] [some text]
_BRACKET = re.compile(r"\s*[A-Za-z_]+ *\[([A-Za-z]{0,3}\d+)\]")


def element_ids(action: str) -> list[str]:
    """The element ids that an action names, in order; values that only look like ids are left out."""
    if call := _CALL.match(action):
        ids = [call.group(2)]
        if "drag" in call.group(1) and (second := _SECOND.search(action)):
            ids.append(second.group(1))
        return ids
    if bracket := _BRACKET.match(action):
        return [bracket.group(1)]
    return []


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
