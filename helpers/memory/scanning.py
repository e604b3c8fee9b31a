"""Find states and lines by a pattern: with rg where it can be used, else in Python."""

from __future__ import annotations

import os

from . import ripgrep
from .haystack import is_slug, read_text
from .page import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .haystack import Workspace

# A pattern of these and of letters cannot match across lines nor ask where a line ends, so that a whole text
# without a match needs no look at its lines.
_WITHIN_A_LINE = " _-:/.*+|#=<>,'\"@%&;!~`"
_SPECIAL = frozenset("\\.+*?()|[]{}^$#&-~")  # of a regular expression


class Hit:
    """One matching line (from 1) and where in it the match begins (characters from 0)."""

    __slots__ = ("column", "index", "line", "slug", "text")

    def __init__(self, slug: str, index: int, line: int, column: int, text: str) -> None:
        self.slug = slug
        self.index = index
        self.line = line
        self.column = column
        self.text = text


class Pattern:
    """What is looked for; a regular expression unless `fixed`.

    Raises:
        HelperError: it is empty (now), or no regular expression (when used).
    """

    def __init__(self, text: str, *, fixed: bool, any_case: bool) -> None:
        if not text:
            from .failure import HelperError

            raise HelperError("the pattern is empty")
        self.text = text
        self.fixed = fixed
        self.any_case = any_case

    def __str__(self) -> str:
        return quote(self.text) + (" (case ignored)" if self.any_case else "")

    def options(self) -> list[str]:
        """The same for rg."""
        return ripgrep.pattern_options(self.text, fixed=self.fixed, any_case=self.any_case)

    def search(self) -> Callable[[str], object]:
        """The same as a function of one line."""
        from .lines import compiled

        return compiled(self.text, fixed=self.fixed, any_case=self.any_case)


def escaped(text: str) -> str:
    """A regular expression, for rg as for Python, that matches this text alone."""
    return "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in text)


def states(
    workspace: Workspace, pattern: Pattern, places: list[tuple[str, int]] | None = None
) -> dict[str, list[int]]:
    """All states with a match, among these or among all: sorted state numbers by slug, sorted by slug."""
    if places is None:
        workspace.rows()  # says what is wrong when there is no haystack
        known = None
    else:
        known = [workspace.state_path(slug, index) for slug, index in places]
    try:
        paths = ripgrep.files(pattern.options(), [workspace.trajectories] if known is None else known)
    except ripgrep.UnusableError:
        paths = _scan(_all_paths(workspace) if known is None else known, pattern)
    names: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, []).append(name)
    found = {}
    for folder in sorted(names):
        slug = folder.rpartition("/")[2]
        indices = sorted(int(stem) for stem in (name[:-4] for name in names[folder]) if stem.isdigit())
        if indices and is_slug(slug):
            found[slug] = indices
    return found


def hits(workspace: Workspace, pattern: Pattern, places: list[tuple[str, int]], per_state: int) -> list[Hit]:
    """The first matching lines of each of these states, sorted by slug, state and line."""
    if not places:
        return []
    paths = [workspace.state_path(slug, index) for slug, index in places]
    try:
        rows = ripgrep.lines(pattern.options(), paths, per_state)
    except ripgrep.UnusableError:
        rows = list(_scan_lines(paths, pattern, per_state))
    found = []
    for path, line, column, text in rows:
        place = _place(path)
        if place:
            before = text.encode("utf-8", "replace")[: column - 1].decode("utf-8", "ignore")
            found.append(Hit(*place, line, len(before), text))
    return sorted(found, key=lambda hit: (hit.slug, hit.index, hit.line))


def _place(path: str) -> tuple[str, int] | None:
    folder, _, name = path.rpartition("/")
    slug, number = folder.rpartition("/")[2], name.partition(".")[0]
    return (slug, int(number)) if is_slug(slug) and number.isdigit() else None


def _all_paths(workspace: Workspace) -> Iterator[str]:
    for slug in sorted(os.listdir(workspace.trajectories)):
        folder = os.path.join(workspace.trajectories, slug)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith(".txt") and name[0].isdigit():
                yield os.path.join(folder, name)


def _scan(paths: Iterable[str], pattern: Pattern) -> list[str]:
    find = pattern.search()
    simple = pattern.fixed or all(letter.isalnum() or letter in _WITHIN_A_LINE for letter in pattern.text)
    found = []
    for path in paths:
        text = read_text(path)
        if find(text) if simple else any(map(find, text.split("\n"))):
            found.append(path)
    return found


def _scan_lines(paths: list[str], pattern: Pattern, per_state: int) -> Iterator[tuple[str, int, int, str]]:
    find = pattern.search()
    for path in paths:
        found = 0
        for number, line in enumerate(read_text(path).split("\n"), 1):
            match = find(line)
            if match:
                start = match.start()  # type: ignore[attr-defined]
                yield path, number, len(line[:start].encode("utf-8", "replace")) + 1, line
                found += 1
                if found == per_state:
                    break
