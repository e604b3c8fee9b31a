"""The lines that states show, ids aside, and what each shows that none before it in its trajectory did."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter

# A line break, the indent after it, and the element id of the node, such as [12] or [a324].
_BREAK = re.compile(r"\n[ \t]*+(?:\[[A-Za-z]{0,3}+[0-9]++\][ \t]*+)?")
_BLANK = frozenset(" \t")
_last_character = itemgetter(-1)


def distinct_lines(text: str) -> dict[str, None]:
    """The distinct lines of a text in order, without ids and indents."""
    return dict.fromkeys(_BREAK.split("\n" + text))


def new_lines(states: Iterable[Mapping[str, None]]) -> list[str]:
    """Of the distinct lines of each state those not shown before, one a line.

    Menus that come back on every page thus appear once, though their element ids change.
    """
    # A haystack has seven million lines. So a growing dict, which keeps the order of first sight, does the
    # comparing inside the interpreter's C code.
    seen: dict[str, None] = {"": None}
    out: list[str] = []
    for shown in states:
        before = len(seen)
        seen.update(shown)
        fresh = list(islice(reversed(seen), len(seen) - before))
        fresh.reverse()
        if not _BLANK.isdisjoint(map(_last_character, fresh)):
            fresh = _without_trailing(fresh, seen)
        out.append("\n".join(fresh))
    return out


def _without_trailing(fresh: list[str], seen: dict[str, None]) -> list[str]:
    """The lines of `fresh` without trailing whitespace, those left out that were seen without it before."""
    kept = []
    for line in fresh:
        bare = line.rstrip(" \t")
        if bare != line:
            if bare in seen:
                continue
            seen[bare] = None
        kept.append(bare)
    return kept
