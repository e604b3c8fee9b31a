"""What each state shows that no state before it in its trajectory did: what a search index is made from."""

import re
from itertools import islice

STATE_MARK = "\x1e"  # cannot occur in sanitised text

# A line break, the indent after it, and the element id of the node, such as [12] or [a324].
_BREAK = re.compile(r"\n[ \t]*(?:\[[A-Za-z]{0,3}\d+\][ \t]*)?")
_TRAILING = re.compile(r"[ \t]+(?=\n|\Z)")


def new_lines(observations: list[str]) -> bytes:
    """For each observation the line "\\x1e<index>", then its lines not shown before, without ids and indents.

    Menus that come back on every page thus appear once, though their element ids change.
    """
    # One growing dict keeps the order of first sight and does the comparing inside the interpreter's C code:
    # a loop over the lines of a haystack (seven million) would be most of the time of an import.
    seen: dict[str, None] = {"": None}
    out: list[str] = []
    for index, text in enumerate(observations):
        before = len(seen)
        seen.update(dict.fromkeys(plain_lines(text)))
        fresh = list(islice(reversed(seen), len(seen) - before))
        out.append(f"{STATE_MARK}{index}\n")
        if fresh:
            fresh.reverse()
            out.append("\n".join(fresh))
            out.append("\n")
    return "".join(out).encode()


def plain_lines(text: str) -> list[str]:
    """The lines of an observation without element ids and surrounding whitespace."""
    if " \n" in text or "\t\n" in text or text[-1:] in " \t":
        text = _TRAILING.sub("", text)
    return _BREAK.split("\n" + text)
