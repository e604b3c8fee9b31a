"""What the haystack holds: its manifest, or the trajectories whose line matches."""

from __future__ import annotations

import os

from .arguments import NUMBER, TEXT, Arguments, Verb
from .failure import FOUND, NOTHING_FOUND
from .haystack import Row, Workspace, read_text
from .page import Page, clip

MANIFEST_BYTES = 256_000


def overview(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """The manifest page by page; with --find the trajectories whose id, goal, url or outcome match."""
    rows = workspace.rows()
    page.line(f"# haystack: {len(rows)} trajectories, {sum(row.states for row in rows)} states")
    start = arguments.number("from", 1)
    if arguments.has("find"):
        return _list(arguments.text("find"), rows, start, page)
    path = os.path.join(workspace.haystack, "MANIFEST.md")
    if not os.path.isfile(path):
        return _list("", rows, start, page)
    lines = read_text(path, MANIFEST_BYTES).rstrip("\n").split("\n")
    for number, line in enumerate(lines[start - 1 :] if start else lines, max(1, start)):
        if not page.line(line):
            page.foot(f"… lines {number}-{len(lines)}: memory overview --from {number}; by goal: --find RE")
            return FOUND
    page.foot("trajectories by goal, url or outcome: memory overview --find RE; one: memory show ID")
    return FOUND


def _list(pattern: str, rows: list[Row], start: int, page: Page) -> int:
    found = rows
    if pattern:
        from .lines import matcher

        find = matcher(pattern)
        found = [row for row in rows if find(f"{row.slug} {row.id} {row.goal} {row.start_url} {row.outcome}")]
        page.line(f"{len(found)} match")
    option = f" --find '{clip(pattern, 60)}'" if pattern else ""
    for number, row in enumerate(found[max(0, start - 1) :], max(1, start)):
        outcome = clip(row.outcome, 40) or "?"
        if not page.line(f"{row.slug} ({row.states} states, {outcome}) {clip(row.goal, 160)}"):
            left = len(found) - number + 1
            page.foot(f"… {left} more: memory overview{option} --from {number}; narrow with --find RE")
            return FOUND
    if found:
        page.foot("one of them: memory show ID")
        return FOUND
    page.foot("nothing; a shorter pattern, or memory grep REGEX over all states")
    return NOTHING_FOUND


VERBS = {
    "overview": Verb(
        "overview [--find RE] [--from LINE]",
        "Print what the haystack holds; --find lists the trajectories whose id, goal, url or outcome match.",
        overview,
        instead="a simpler pattern",
        options={"find": TEXT, "from": NUMBER},
    ),
}
