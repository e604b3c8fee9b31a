"""Find text by a pattern: over all states, or in one trajectory."""

from __future__ import annotations

from .arguments import FLAG, NUMBER, TEXT, Arguments, Verb
from .failure import FOUND, NOTHING_FOUND, HelperError
from .haystack import Workspace, compact, plain
from .page import LONG_LINE, Page, around, clip
from .scanning import Hit, Pattern, hits, states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

COUNTED = 25  # trajectories in the list of counts
QUOTED = 12  # trajectories with excerpts
LOOKS = 48  # states read for excerpts
LINES_PER_STATE = 50
WIDTHS = (200, 700)  # of an excerpt, when many and when few share a page
LONG = 120  # a line so long is not shown again for another trajectory
MATCH_LENGTH = 40  # what is kept in view right of where a match begins


class Group:
    """One distinct line (ids aside) of a trajectory and the states that show it."""

    def __init__(self, first: Hit) -> None:
        self.first = first
        self.indices = [first.index]

    def add(self, index: int) -> None:
        """Note that this state shows it too."""
        if self.indices[-1] != index:
            self.indices.append(index)

    def shown(self, width: int) -> str:
        """The states and the line, where it is long the part around the match."""
        line, start = self.first.text, self.first.column
        text = around(line, start, min(len(line), start + MATCH_LENGTH), width).strip()
        return f"{compact(self.indices)} (line {self.first.line}): {text}"


def grep(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Counts per trajectory, most states first, then excerpts of the first of them."""
    if arguments.has("in"):
        return _match(arguments.text("in"), arguments, workspace, page)
    pattern = _pattern(arguments.word(0), arguments)
    found = states(workspace, pattern)
    if not found:
        page.foot(f"no state shows {pattern}; try a shorter word, -i, or memory search for related words")
        return NOTHING_FOUND
    order = sorted(found, key=lambda slug: (-len(found[slug]), slug))
    first = arguments.number("from", 0)
    if first >= len(order):
        raise HelperError(f"--from must be from 0 to {len(order) - 1}")
    total = sum(map(len, found.values()))
    page.line(f"# {pattern}: {total} states in {len(order)} of {len(workspace.rows())} trajectories")
    goals = {row.slug: row for row in workspace.rows()}
    for slug in order[first : first + COUNTED]:
        if page.room < page.limit // 2:
            break
        goal = clip(goals[slug].goal, 80) if slug in goals else ""
        page.line(f"{len(found[slug])} {slug}: {clip(compact(found[slug]), 60)} | {goal}")
    quoted = order[first : first + QUOTED]
    shown = _excerpts({slug: found[slug] for slug in quoted}, pattern, workspace, page)
    following = first + max(1, shown)
    more = (
        f"… {len(order) - following} more trajectories: --from {following}; "
        if following < len(order)
        else ""
    )
    page.foot(f"{more}all lines of one: memory match ID REGEX; read: memory state ID N")
    return FOUND


def match(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """The distinct matching lines of one trajectory with the states that show them."""
    return _match(arguments.word(0), arguments, workspace, page)


def _match(name: str, arguments: Arguments, workspace: Workspace, page: Page) -> int:
    slug = workspace.find(name)
    pattern = _pattern(arguments.words[-1], arguments)
    total = workspace.states(slug)
    found = hits(workspace, pattern, [(slug, index) for index in range(total)], LINES_PER_STATE)
    groups = _groups(found)
    first = arguments.number("from", 0)
    if not groups:
        page.foot(f"no line of {slug} (states 0-{total - 1}) matches {pattern}; memory grep looks everywhere")
        return NOTHING_FOUND
    indices = sorted({hit.index for hit in found})
    width = _width(page, len(groups) - first)
    page.line(f"# {slug}: {pattern} in {len(indices)} of {total} states ({clip(compact(indices), 200)})")
    for place, group in enumerate(groups[first:], first):
        if not page.line(group.shown(width), LONG_LINE):
            page.foot(f"… {len(groups) - place} more lines: --from {place}, or a narrower pattern")
            return FOUND
    page.foot(f"around a line: memory state {slug} N --find REGEX")
    return FOUND


def _pattern(text: str, arguments: Arguments) -> Pattern:
    from .lines import any_case

    return Pattern(
        text, fixed=arguments.has("fixed"), any_case=arguments.has("ignore-case") or any_case(text)
    )


def _groups(found: Iterable[Hit]) -> list[Group]:
    groups: dict[tuple[str, str], Group] = {}
    for hit in found:
        key = (hit.slug, plain(hit.text))
        if key in groups:
            groups[key].add(hit.index)
        else:
            groups[key] = Group(hit)
    return list(groups.values())


def _excerpts(found: dict[str, list[int]], pattern: Pattern, workspace: Workspace, page: Page) -> int:
    """Some lines of each trajectory; how many trajectories were shown."""
    each = max(2, LOOKS // len(found))
    places = [(slug, index) for slug, indices in found.items() for index in indices[:each]]
    by_slug: dict[str, list[Group]] = {slug: [] for slug in found}
    for group in _groups(hits(workspace, pattern, places, LINES_PER_STATE)):
        by_slug[group.first.slug].append(group)
    width = _width(page, sum(min(each, len(groups)) for groups in by_slug.values()))
    before: dict[str, str] = {}
    page.line("")
    for done, (slug, groups) in enumerate(by_slug.items()):
        end = page.room - page.room // (len(found) - done)
        if not page.line(slug):
            return done
        for place, group in enumerate(groups):
            if place and (place >= each or page.room - width < end):
                page.line(f"  … {len(groups) - place} more lines in states {compact(found[slug][:each])}")
                break
            if not page.line(f"  {_once(group, width, before)}"):
                return done
    return len(found)


def _once(group: Group, width: int, before: dict[str, str]) -> str:
    """A group's line, or where another trajectory has shown the same long line already, only where."""
    text, bare = group.shown(width), plain(group.first.text)
    if bare in before and len(bare) > LONG:
        return f"{compact(group.indices)} (line {group.first.line}): the same line as {before[bare]}"
    before[bare] = f"{group.first.slug} {group.first.index}"
    return text


def _width(page: Page, lines: int) -> int:
    """Characters of an excerpt when so many lines are to share the page."""
    return max(WIDTHS[0], min(WIDTHS[1], page.room // (2 * max(1, lines))))


_PATTERN_OPTIONS = {"ignore-case": FLAG, "fixed": FLAG, "from": NUMBER}
_PATTERN_SHORT = {"-i": "ignore-case", "-F": "fixed"}
_CASE = "Case is ignored unless the pattern has an upper-case letter (-i: always); -F takes it as plain text."

VERBS = {
    "grep": Verb(
        "grep REGEX [--in ID] [-i] [-F] [--from N]",
        "Search all states: counts per trajectory, then excerpts; --in ID searches one trajectory.\n" + _CASE,
        grep,
        instead="one trajectory (--in ID), a simpler pattern, or text as it is (-F)",
        words=(1, 1),
        options={"in": TEXT, **_PATTERN_OPTIONS},
        short=_PATTERN_SHORT,
    ),
    "match": Verb(
        "match ID REGEX [-i] [-F] [--from N]",
        "Print the distinct matching lines of one trajectory, each with the states that show it.\n" + _CASE,
        match,
        instead="a simpler pattern, or text as it is (-F)",
        words=(2, 2),
        options=_PATTERN_OPTIONS,
        short=_PATTERN_SHORT,
    ),
}
