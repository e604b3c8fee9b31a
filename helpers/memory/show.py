"""One trajectory as a list: its states by action, or its story by what was new in each state."""

from __future__ import annotations

from .arguments import NUMBER, Arguments, Verb
from .failure import FOUND, HelperError
from .haystack import StateText, Workspace, compact, plain, read_state, with_screenshots
from .page import Page, clip

# Widths of action and thought, tried in this order until the list fits on the page.
WIDTHS = ((160, 220), (140, 100), (100, 50), (80, 0))
NEW_LINES = 12  # of one state in a timeline
NEW_WIDTH = 160


def show(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Goal, outcome and one line per state."""
    slug = workspace.find(arguments.word(0))
    total = _head(workspace, slug, page)
    first = _first(arguments, total)
    texts = [read_state(workspace, slug, index) for index in range(first, total)]
    lines: list[str] = []
    for widths in WIDTHS:
        lines = _one_liners(texts, first, widths)
        if sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) <= page.room:
            break
    for index, line in enumerate(lines, first):
        if not page.line(line):
            page.foot(f"… states {index}-{total - 1}: memory show {slug} --from {index}")
            return FOUND
    page.foot(f"read: memory state {slug} N, memory span {slug} A:B; find: memory match {slug} REGEX")
    return FOUND


def timeline(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Per state its action and the lines that no earlier state of the trajectory showed."""
    slug = workspace.find(arguments.word(0))
    total = _head(workspace, slug, page)
    first = _first(arguments, total)
    seen: set[str] = set()
    url = ""
    for index in range(total):
        text = read_state(workspace, slug, index)
        new = _new_lines(text, seen)
        if index >= first and not _entry(index, text, new, url, page):
            page.foot(f"… states {index}-{total - 1}: memory timeline {slug} --from {index}")
            return FOUND
        url = text.url
    page.foot(f"whole states: memory state {slug} N")
    return FOUND


def _head(workspace: Workspace, slug: str, page: Page) -> int:
    about = workspace.about(slug)
    total = int(about["states"])
    page.line(f"# {slug} (id {clip(about.get('id', slug), 120)}), states 0-{total - 1}")
    goal = " ".join(about.get("goal", "").split())
    page.line(f"goal: {goal}", 1500)
    outcome, convention = about.get("outcome", ""), about.get("action_convention", "unknown")
    meaning = {"source": "was taken in the state", "destination": "led to the state"}.get(
        convention, "unknown"
    )
    page.line(f"outcome: {clip(outcome, 300) or 'not recorded'}; action shown: {meaning}")
    page.line(f"start: {about.get('start_url', '')}", 300)
    pictured = with_screenshots(workspace, slug)
    if pictured:
        page.line(f"screenshots: {compact(pictured)}  (memory image {slug} N, memory contact {slug})")
    return total


def _first(arguments: Arguments, total: int) -> int:
    first = arguments.number("from", 0)
    if first >= max(1, total):
        raise HelperError(f"--from must be a state from 0 to {total - 1}")
    return first


def _one_liners(texts: list[StateText], first: int, widths: tuple[int, int]) -> list[str]:
    lines = []
    url = ""
    for index, text in enumerate(texts, first):
        action, thought = clip(text.action or "-", widths[0]), text.thought
        line = f"{index} {action}"
        if thought and widths[1]:
            line += f" | {clip(thought, widths[1])}"
        if text.url != url:
            line += f" @ {clip(text.url, 120)}"
        url = text.url
        lines.append(line)
    return lines


def _new_lines(text: StateText, seen: set[str]) -> list[str]:
    """The lines of the observation, ids aside, that are not in `seen`; they are put there."""
    new = []
    for line in text.lines[text.observation :]:
        bare = plain(line)
        if bare and bare not in seen:
            seen.add(bare)
            new.append(bare)
    return new


def _entry(index: int, text: StateText, new: list[str], url: str, page: Page) -> bool:
    where = f" @ {clip(text.url, 160)}" if text.url != url else ""
    if not page.line(f"{index} {clip(text.action or '-', 160)}{where}"):
        return False
    if text.thought and not page.line(f"  thought: {clip(text.thought, 220)}"):
        return False
    for line in new[:NEW_LINES]:
        if not page.line(f"  + {clip(line, NEW_WIDTH)}"):
            return False
    more = len(new) - NEW_LINES
    return more <= 0 or page.line(f"  + … {more} more new lines")


VERBS = {
    "show": Verb(
        "show ID [--from N]",
        "Print goal, outcome and start of a trajectory, and per state: number, action | thought @ new url.",
        show,
        words=(1, 1),
        options={"from": NUMBER},
    ),
    "timeline": Verb(
        "timeline ID [--from N]",
        "Print the story of a trajectory: per state its action and the lines not seen before in it.",
        timeline,
        words=(1, 1),
        options={"from": NUMBER},
    ),
}
