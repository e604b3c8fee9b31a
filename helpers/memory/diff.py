"""What changed between two states of a trajectory."""

from __future__ import annotations

from .arguments import Arguments, Verb
from .failure import FOUND, NOTHING_FOUND, HelperError
from .haystack import StateText, Workspace, plain, read_state
from .page import Page, clip

WIDTH = 400
GONE_SHARE = 3  # of the page, one part in three is kept for what has gone


def diff(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Lines that B shows and A does not, then lines that have gone; a line that only moved is no change."""
    slug = workspace.find(arguments.word(0))
    first, second = _two(arguments.words[1:])
    a, b = workspace.index(slug, first), workspace.index(slug, second)
    old, new = read_state(workspace, slug, a), read_state(workspace, slug, b)
    added, gone = surplus(_observation(new), _observation(old)), surplus(_observation(old), _observation(new))
    page.line(f"# {slug}: state {a} -> {b}: {len(added)} new lines, {len(gone)} gone (ids and moves aside)")
    page.line(f"url: {old.url}" + (f" -> {new.url}" if new.url != old.url else " (same)"), 600)
    page.line(f"action: {clip(old.action or '-', 200)} -> {clip(new.action or '-', 200)}")
    kept = min(page.room // GONE_SHARE, sum(len(line.encode("utf-8", "replace")) + 4 for line in gone))
    hidden = _print("+ ", added, kept, page) + _print("- ", gone, 0, page)
    if hidden:
        page.foot(f"… {hidden} more changed lines; --max-bytes up to 63000, or memory match {slug} REGEX")
    return FOUND if added or gone or old.url != new.url else NOTHING_FOUND


def surplus(lines: list[str], others: list[str]) -> list[str]:
    """The lines that occur more often in `lines` than in `others`, in order, as often as that."""
    left: dict[str, int] = {}
    for line in others:
        left[line] = left.get(line, 0) + 1
    found = []
    for line in lines:
        if left.get(line, 0):
            left[line] -= 1
        else:
            found.append(line)
    return found


def _observation(text: StateText) -> list[str]:
    return [bare for bare in map(plain, text.lines[text.observation :]) if bare]


def _two(words: list[str]) -> tuple[str, str]:
    if len(words) == 1:
        first, _, second = words[0].replace("..", "-").replace(":", "-").partition("-")
        words = [first, second]
    if not words[1]:
        raise HelperError("which two states? Give ID A B")
    return words[0], words[1]


def _print(mark: str, lines: list[str], kept: int, page: Page) -> int:
    """Print the lines until `kept` bytes of the page are left; how many were left out."""
    for place, line in enumerate(lines):
        text = mark + clip(line, WIDTH)
        if page.room - len(text.encode("utf-8", "replace")) - 1 < kept or not page.line(text):
            return len(lines) - place
    return 0


VERBS = {
    "diff": Verb(
        "diff ID A B",
        "Print what state B shows and state A does not (+), and the reverse (-), by line; element ids and\n"
        "lines that only moved are no change.",
        diff,
        instead="lines of one state (memory state ID N --find RE)",
        words=(2, 3),
    ),
}
