"""What each state shows that no state before it in its trajectory did: what a search index is made from."""

import re
from itertools import islice
from operator import itemgetter

# A line break, the indent after it, and the element id of the node, such as [12] or [a324].
_BREAK = re.compile(r"\n[ \t]*+(?:\[[A-Za-z]{0,3}+[0-9]++\][ \t]*+)?")
_BLANK = frozenset(" \t")
_BLOCK = 512  # characters
_last_character = itemgetter(-1)


def new_lines(observations: list[str]) -> list[str]:
    """For each observation its lines not shown before, without ids and indents.

    Menus that come back on every page thus appear once, though their element ids change.
    """
    # A haystack has seven million lines. So what a state repeats of the one before is skipped unsplit, and a
    # growing dict, which keeps the order of first sight, does the comparing inside the interpreter's C code.
    seen: dict[str, None] = {"": None}
    out: list[str] = []
    previous = ""
    for text in observations:
        before = len(seen)
        for part in _changed_parts(text, previous):
            seen.update(dict.fromkeys(_BREAK.split(part)))
        fresh = list(islice(reversed(seen), len(seen) - before))
        fresh.reverse()
        if not _BLANK.isdisjoint(map(_last_character, fresh)):
            fresh = _without_trailing(fresh, seen)
        out.append("\n".join(fresh))
        previous = text
    return out


def _changed_parts(text: str, previous: str) -> tuple[str, str]:
    """The lines of `text`, each after a line break, without the run repeated from `previous`.

    The run begins at the second line, for the first is often a title, which changes.
    """
    first, other = text.find("\n"), previous.find("\n")
    if first < 0 or other < 0:
        return "\n" + text, ""
    end = first + _common_length(text, first, previous, other)
    # The line in which the texts part may be another one: it is not skipped.
    return "\n" + text[:first], text[max(first, text.rfind("\n", first, end)) :]


def _common_length(one: str, start: int, other: str, other_start: int) -> int:
    """How many characters, in steps of a block, two texts share from these places on."""
    length = 0
    while block := other[other_start + length : other_start + length + _BLOCK]:
        if not one.startswith(block, start + length):
            break
        length += len(block)
    return length


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
