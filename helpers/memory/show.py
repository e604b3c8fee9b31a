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
    texts = _fitting(workspace, slug, range(first, total), page.room)
    lines: list[str] = []
    for widths in WIDTHS if len(texts) == total - first else WIDTHS[-1:]:
        lines = _one_liners(texts, first, widths)
        if sum(map(_bytes, lines)) <= page.room:
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


def _fitting(workspace: Workspace, slug: str, states: range, room: int) -> list[StateText]:
    """The states from the first on, up to one for which even the shortest lines leave no room."""
    texts: list[StateText] = []
    url = ""
    for index in states:
        texts.append(read_state(workspace, slug, index))
        room -= _bytes(_one_liner(index, texts[-1], url, WIDTHS[-1]))
        if room < 0:
            break
        url = texts[-1].url
    return texts


def _one_liners(texts: list[StateText], first: int, widths: tuple[int, int]) -> list[str]:
    before = ["", *(text.url for text in texts)]
    return [_one_liner(first + place, text, before[place], widths) for place, text in enumerate(texts)]


def _one_liner(index: int, text: StateText, url: str, widths: tuple[int, int]) -> str:
    """What a state is in a list: its address where that is not `url`, which the state before has."""
    line = f"{index} {clip(text.action or '-', widths[0])}"
    if text.thought and widths[1]:
        line += f" | {clip(text.thought, widths[1])}"
    return line if text.url == url else f"{line} @ {clip(text.url, 120)}"


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


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
        instead="single states (memory state ID N)",
        words=(1, 1),
        options={"from": NUMBER},
    ),
    "timeline": Verb(
        "timeline ID [--from N]",
        "Print the story of a trajectory: per state its action and the lines not seen before in it.",
        timeline,
        instead="some of its states (memory span ID A:B)",
        words=(1, 1),
        options={"from": NUMBER},
    ),
}
