"""The lines that most states of a trajectory show, its menus, folded: so what is a state's own is seen."""

from __future__ import annotations

from .haystack import StateText, Workspace, plain, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

SAMPLE = 6  # other states that are looked at
MOST = 0.75  # of these show what counts as a menu
RUN = 4  # lines in a row; a fold of fewer would say less than they do
_BYTES = 1 << 18  # of another state


def common_lines(workspace: Workspace, slug: str, index: int) -> Set[str]:
    """The lines, ids aside, that most other states show; none where there are too few others to tell."""
    total = workspace.states(slug)
    others = [other for other in range(total) if other != index]
    sample = (
        sorted({others[place * (len(others) - 1) // (SAMPLE - 1)] for place in range(SAMPLE)})
        if others
        else []
    )
    if len(sample) < RUN:
        return frozenset()
    counts: dict[str, int] = {}
    for other in sample:
        for line in _lines(workspace, slug, other):
            counts[line] = counts.get(line, 0) + 1
    return {line for line, count in counts.items() if count >= MOST * len(sample)}


def fold(text: StateText, common: Set[str]) -> list[tuple[int, str]]:
    """All lines of a state with their numbers from 0; runs of common ones are one line that counts them."""
    rows: list[tuple[int, str]] = []
    run: list[tuple[int, str]] = []
    for place, line in enumerate([*text.lines, None]):
        # The first line of what was observed is its title.
        if line is not None and place > text.observation and plain(line) in common:
            run.append((place, line))
            continue
        if len(run) >= RUN:
            run = [(run[0][0], f"[{len(run)} menu lines folded; --all shows them]")]
        rows += run
        run = []
        if line is not None:
            rows.append((place, line))
    return rows


def own_text(text: str, before: str) -> str:
    """The text of a state with each line left empty that the state before it showed too."""
    shown = _observed(before)
    head, blank, observation = text.partition("\n\n")
    own = ("" if plain(line) in shown else line for line in observation.split("\n"))
    return head + blank + "\n".join(own)


def _lines(workspace: Workspace, slug: str, index: int) -> set[str]:
    try:
        return _observed(read_text(workspace.state_path(slug, index), _BYTES))
    except OSError:
        return set()


def _observed(text: str) -> set[str]:
    """The lines of a state's observation, ids aside."""
    return set(map(plain, text.partition("\n\n")[2].split("\n")))
