"""Which states show a line: looked up in the index instead of read."""

from __future__ import annotations

from .haystack import plain, read_text
from .index_part import split
from .keys import line_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .haystack import Workspace
    from .index import Index


def states_showing(lines: list[str], index: Index, workspace: Workspace) -> dict[str, list[int]]:
    """The states that show any of these lines, ids aside: sorted numbers by slug, in order of the haystack.

    Raises:
        NoIndexError: the index is damaged.
    """
    proven: dict[str, bool] = {}
    shown: dict[str, set[int]] = {}
    for trajectory, which, states in index.lines(split(line_keys(lines))):
        line, slug = lines[which], index.layout.slugs[trajectory]
        # Two lines may have one key, though hardly ever.
        if line not in proven:
            proven[line] = _shows(workspace.state_path(slug, states[0]), line)
        if proven[line]:
            shown.setdefault(slug, set()).update(states)
    return {slug: sorted(states) for slug, states in shown.items()}


def _shows(path: str, line: str) -> bool:
    try:
        return line in map(plain, read_text(path).split("\n"))
    except OSError:
        return False
