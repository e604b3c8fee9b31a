"""Search, choose, explain, hand in."""

from __future__ import annotations

import os
import sys

from ..memory.arguments import whole
from ..memory.evidence import BUDGET, from_options
from ..memory.failure import FOUND, HelperError, NoIndexError
from ..memory.handin import hand_in
from ..memory.haystack import Workspace
from ..memory.page import clean
from ..memory.task import Task
from .choice import choose
from .note import note
from .verdict import verdict

USAGE = "usage: scout [--budget STATES]   (MEMORY_WORKSPACE names the workspace)"


def main(line: list[str]) -> int:
    """Answer the workspace's question with evidence; the exit code: 0, or 2 with one line on stderr."""
    try:
        workspace = Workspace(os.environ.get("MEMORY_WORKSPACE") or ".")
        budget = _budget(line)
        try:
            said = scout(workspace, budget)
        except NoIndexError as failure:  # found out in the middle: the files hold the same
            workspace.index_problem = failure.text
            said = scout(workspace, budget)
    except HelperError as failure:
        sys.stderr.write(f"scout: {clean(failure.text)}\n")
        return failure.code
    sys.stdout.buffer.write(said.encode("utf-8", "replace") + b"\n")
    return FOUND


def scout(workspace: Workspace, budget: int) -> str:
    """Hand in the best states, at most `budget`; what the note says.

    Raises:
        HelperError: no question, no haystack, or the workspace cannot be written.
    """
    task = Task(workspace)
    ranking = task.ranking()
    choice = choose(task, ranking, budget)
    judged = verdict(task, ranking, choice)
    said = note(task, ranking, choice, judged, {row.slug: row for row in workspace.rows()})
    hand_in(from_options(said, [str(span) for span in choice.spans], judged.status, workspace), workspace)
    return said


def _budget(line: list[str]) -> int:
    given = os.environ.get("SCOUT_BUDGET", str(BUDGET))
    if line[:1] == ["--budget"] and len(line) == 2:
        given = line[1]
    elif line:
        raise HelperError(USAGE)
    budget = whole(given, "the budget")
    if not 1 <= budget <= BUDGET:
        raise HelperError(f"the budget must be from 1 to {BUDGET} states")
    return budget
