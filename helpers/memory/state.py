"""Read states: one in full, or a span with what is new in each."""

from __future__ import annotations

from .arguments import FLAG, TEXT, Arguments, Verb, whole
from .failure import FOUND, NOTHING_FOUND, HelperError
from .folding import common_lines, fold
from .haystack import StateText, Workspace, compact, plain, read_state, screenshot
from .page import LONG_LINE, Page, clip

CONTEXT_LINES = 2
TAIL_SHARE = 3  # of a page too small for the state, one part in three is for its end
_MARK_BYTES = 200  # for the line that tells what was left out
SPAN_WIDTH = 600


def state(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """The file of one state, or with --find the matching lines and their surroundings."""
    slug, where = one_state(arguments, workspace)
    index = workspace.index(slug, where)
    text = read_state(workspace, slug, index)
    if arguments.has("find"):
        return _find(arguments.text("find"), text, slug, index, page)
    start, column = _from(arguments.text("from", "1"), text)
    common = frozenset() if arguments.has("all") else common_lines(workspace, slug, index)
    pictured = f"; screenshot: memory image {slug} {index}" if screenshot(workspace, slug, index) else ""
    page.line(f"# {slug} state {index} of 0-{workspace.states(slug) - 1}, {len(text.lines)} lines{pictured}")
    if column:
        column += page.piece(text.lines[start][column:])
        if column < len(text.lines[start]):
            page.foot(f"… continue: memory state {slug} {index} --from {start + 1}:{column}")
            return FOUND
        start += 1
    rows = [row for row in fold(text, common) if row[0] >= start]
    command = f"memory state {slug} {index}" + (" --all" if arguments.has("all") else "")
    _write(rows, command, page, tail=not arguments.has("from"))
    return FOUND


def one_state(arguments: Arguments, workspace: Workspace) -> tuple[str, str]:
    """The slug and the state number as text from the words `ID N` or `ID:N`."""
    name, where = arguments.word(0), arguments.word(1)
    if len(arguments.words) == 1:
        name, _, where = name.rpartition(":")
        if not name:
            raise HelperError("which state? Give ID and N")
    return workspace.find(name), where


def _write(rows: list[tuple[int, str]], command: str, page: Page, *, tail: bool) -> None:
    """Write numbered lines; with `tail`, where they are too many, the last ones and not the middle."""
    shown = [_shortened(place, line) for place, line in rows]
    sizes = [len(line.encode("utf-8", "replace")) + 1 for line in shown]
    cut, end = len(rows), page.room // TAIL_SHARE
    if tail and sum(sizes) > page.room:
        while cut and sizes[cut - 1] <= end:
            cut -= 1
            end -= sizes[cut]
    kept = sum(sizes[cut:]) + _MARK_BYTES if cut < len(rows) else 0
    done = 0
    while done < cut and page.room - sizes[done] >= kept and page.line(shown[done], 2 * LONG_LINE):
        done += 1
    if done < cut:
        more = f"{command} --from {rows[done][0] + 1}"
        if kept:
            page.line(f"[… {cut - done} lines left out: {more}]")
            for line in shown[cut:]:
                page.line(line, 2 * LONG_LINE)
        page.foot(f"… {cut - done} more lines: {more}, or --find RE")


def _shortened(place: int, line: str) -> str:
    if len(line) <= LONG_LINE:
        return line
    more = f"--from {place + 1}:{LONG_LINE} or --find RE"
    return f"{line[:LONG_LINE]} […+{len(line) - LONG_LINE} characters: {more}]"


def _from(text: str, state_text: StateText) -> tuple[int, int]:
    line, _, column = text.partition(":")
    number = whole(line, "--from")
    if not 1 <= number <= max(1, len(state_text.lines)):
        raise HelperError(f"--from must be a line from 1 to {len(state_text.lines)}")
    return number - 1, whole(column, "the column of --from") if column else 0


def _find(pattern: str, text: StateText, slug: str, index: int, page: Page) -> int:
    from .lines import excerpt, matcher

    find = matcher(pattern)
    places = [place for place, line in enumerate(text.lines) if find(line)]
    page.line(f"# {slug} state {index}: {len(places)} of {len(text.lines)} lines match")
    last = -1
    for done, place in enumerate(places):
        first = max(last + 1, place - CONTEXT_LINES)
        if last >= 0 and first > last + 1:
            page.line("--")
        for near in range(first, min(len(text.lines), place + CONTEXT_LINES + 1)):
            match = find(text.lines[near])
            shown = page.line(f"{near + 1}{':' if match else '-'} {excerpt(text.lines[near], match)}")
            if not shown:
                left = len(places) - done
                command = f"memory state {slug} {index} --from {place + 1}"
                page.foot(f"… {left} more matches: {command}")
                return FOUND
            last = near
    return FOUND if places else NOTHING_FOUND


def span(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Several states: the first in full, of each later one what the state before it did not show."""
    slug, ranges = _span_words(arguments.words, workspace)
    indices = [index for first, last in ranges for index in range(first, last + 1)]
    total = workspace.states(slug)
    page.line(f"# {slug} states {compact(indices)} of 0-{total - 1}; after the first only what is new")
    before: set[str] = set()
    for done, index in enumerate(indices):
        text = read_state(workspace, slug, index)
        observation = text.lines[text.observation :]
        known = {plain(line) for line in observation}
        if done:
            new = [
                (number, line)
                for number, line in enumerate(observation, text.observation + 1)
                if plain(line) not in before
            ]
        else:
            rows = fold(text, common_lines(workspace, slug, index))
            new = [(place + 1, line) for place, line in rows if place >= text.observation]
        end = page.room - page.room // (len(indices) - done)
        unchanged = len(observation) - len(new) if done else 0
        if not _one_of_span(f"{slug} {index}", text, new, unchanged, end, page):
            page.foot(f"… page full; continue: memory span {slug} {clip(compact(indices[done:]), 200)}")
            return FOUND
        before = known
    page.foot("whole states: memory state ID N")
    return FOUND


def _span_words(words: list[str], workspace: Workspace) -> tuple[str, list[tuple[int, int]]]:
    """The slug and the ranges meant by `ID A:B`, `ID A B` or `ID:A-B`."""
    if len(words) == 1:
        from .evidence import spans_from_text

        spans = spans_from_text(words[0], workspace)
        return spans[0].slug, [(span.start, span.end) for span in spans]
    slug = workspace.find(words[0])
    return slug, workspace.ranges(slug, "-".join(words[1:]))


def _one_of_span(
    state: str, text: StateText, new: list[tuple[int, str]], unchanged: int, end: int, page: Page
) -> bool:
    """Write one state until `end` bytes of the page are left; False when its header does not fit."""
    if not page.line(f"## state {state.rpartition(' ')[2]}"):
        return False
    for line in text.lines[: max(0, text.observation - 1)]:
        if not page.line(line, SPAN_WIDTH):
            return False
    for place, (number, line) in enumerate(new):
        shown = clip(line, SPAN_WIDTH)
        if page.room - len(shown.encode("utf-8", "replace")) - 80 < end:
            return page.line(f"  … {len(new) - place} more lines: memory state {state} --from {number}")
        if not page.line(shown):
            return False
    return not unchanged or page.line(f"  ({unchanged} lines as before)")


VERBS = {
    "state": Verb(
        "state ID N [--find RE] [--from LINE[:COLUMN]] [--all]",
        "Print one state: url, action, thought, an empty line, then what it showed. Runs of lines that most\n"
        "states of the trajectory show (menus) are folded, unless --all. Of a state too long for a page the\n"
        "end is shown too, unless --from. --find prints the lines that match a regular expression, numbered\n"
        "and with two lines around; case is ignored unless the pattern has an upper-case letter.",
        state,
        instead="a simpler pattern, or a page of it (--from LINE)",
        words=(1, 2),
        options={"find": TEXT, "from": TEXT, "all": FLAG},
    ),
    "span": Verb(
        "span ID A:B",
        "Print states A to B of a trajectory: the first in full, of each later one the lines that the state\n"
        "before it did not show. Also A-B, or several: 3-5,9.",
        span,
        instead="fewer states",
        words=(1, 3),
    ),
}
