"""Every state that shows one exact text: a line by the index's table of lines, else words by its terms.

The first of these that finds anything counts: whole lines, whole words within lines, parts of words.
"""

from __future__ import annotations

from .arguments import NUMBER, Arguments, Verb
from .failure import FOUND, NOTHING_FOUND, HelperError, NoIndexError
from .haystack import ID_LETTERS, Workspace, compact, plain
from .line_index import states_showing
from .page import Page
from .scanning import Pattern, escaped, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index import Index

MOST_TERMS = 24  # of the text that are looked up
MOST_LOOKS = 5_000  # states that are looked through by name; with more, rg may as well take all
AS_LINE = "(found as a whole line; within longer lines too: memory grep -F TEXT)"
AS_WORDS = "(found as whole words; inside longer words too: memory grep -F TEXT)"
_HEADS = ("url: ", "action: ", "thought: ")  # of lines in a state file; one may leave them out


def where(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Every state that shows a text, as compact ranges per trajectory."""
    text = plain(arguments.word(0))
    if "\n" in text:
        raise HelperError("where takes one line; give its most telling line")
    first = arguments.number("from", 0)
    found, how = _found(text, workspace)
    if not found:
        page.foot("no state shows exactly this; memory grep takes a pattern and ignores case")
        return NOTHING_FOUND
    page.line(f"# {sum(map(len, found.values()))} states in {len(found)} trajectories")
    for place, (slug, indices) in enumerate(found.items()):
        if place >= first and not page.line(f"{slug}: {compact(indices)}"):
            page.foot(f"… {len(found) - place} more trajectories: --from {place}")
            return FOUND
    if how:
        page.foot(how)
    return FOUND


def _found(text: str, workspace: Workspace) -> tuple[dict[str, list[int]], str]:
    """State numbers by slug, and where else the text could stand: "" where all places were looked at."""
    pattern = Pattern(text, fixed=True, any_case=False)
    index = _index(workspace)
    if index is None:
        found = states(workspace, Pattern(_whole_line(text), fixed=False, any_case=False))
    else:
        found = states_showing([text, *(head + text for head in _HEADS)], index, workspace)
    if found:
        return found, AS_LINE
    if index is None:
        return states(workspace, pattern), ""
    inner, edges = _terms(text)
    if not inner and not edges:
        return states(workspace, pattern), ""
    candidates = index.together([*edges, *inner])
    found = _checked(candidates, pattern, index, workspace) if candidates else {}
    if found:
        return found, AS_WORDS if edges else ""
    # Its first and last word may be parts of longer ones; those between cannot be.
    if edges and (not inner or index.together(inner)):
        return states(workspace, pattern), ""
    return {}, ""


def _whole_line(text: str) -> str:
    """A regular expression, for rg as for Python, of lines that are this text, ids aside."""
    return rf"^\s*(?:\[[A-Za-z]{{0,{ID_LETTERS}}}[0-9]+\]\s*)?(?:{'|'.join(_HEADS)})?{escaped(text)}\s*$"


def _terms(text: str) -> tuple[list[str], list[str]]:
    """The terms of the words inside the text, and those of a word at its start or end."""
    from .tokens import places

    for head in _HEADS:
        text = text[len(head) :] if text.startswith(head) else text
    inner: list[str] = []
    edges: list[str] = []
    for start, end, terms in places(text):
        (edges if start == 0 or end == len(text) else inner).extend(terms)
    return _telling(inner), _telling(edges)


def _telling(terms: list[str]) -> list[str]:
    """The longest of the terms, which are mostly the rarest."""
    return sorted(set(terms), key=lambda term: (-len(term), term))[:MOST_TERMS]


def _index(workspace: Workspace) -> Index | None:
    from .index import usable_index

    try:
        return usable_index(workspace)
    except NoIndexError:
        return None


def _checked(
    candidates: list[int], pattern: Pattern, index: Index, workspace: Workspace
) -> dict[str, list[int]]:
    """The states that do show the text, given those that have its words among what is new in them.

    What a state repeats counts in the index for the first that showed it, so each later one is looked at too.
    """
    firsts: dict[int, int] = {}
    for state in candidates:
        firsts.setdefault(index.layout.owner[state], state)
    looks = [state for one, first in firsts.items() for state in range(first, index.layout.span(one).stop)]
    if len(looks) > MOST_LOOKS:
        return states(workspace, pattern)
    return states(workspace, pattern, [index.layout.place(state) for state in looks])


VERBS = {
    "where": Verb(
        "where TEXT [--from N]",
        "List every state that shows exactly this line, ids aside, as ranges per trajectory. Where none\n"
        "does: every state with this text as whole words within a line, or else as parts of words.",
        where,
        instead="a whole line as a state shows it, or memory grep -F TEXT --in ID",
        words=(1, 1),
        options={"from": NUMBER},
    ),
}
