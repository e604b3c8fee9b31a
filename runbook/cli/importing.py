"""`runbook import`: recordings into a store."""

import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from manifests.importing import ImportReport, import_lme_v2
from manifests.store import Store
from runbook.cli.failures import Commands
from runbook.cli.home import store_folder
from runbook.cli.options import AsJson, StoreOption
from runbook.cli.progress import counting
from runbook.cli.tables import print_json
from runbook.cli.terminal import WorkConsole, inert

if TYPE_CHECKING:
    from manifests.sessions import SessionReport

_WORD = re.compile(r"\w[\w'./:-]*\w|\w")
_LEAST_WORDS = 3
_MOST_WORDS = 10
_LONGEST_QUESTION = 80  # characters

importing = typer.Typer(cls=Commands, no_args_is_help=True, help="Import recordings into a store.")


@importing.command("lme-v2")
def lme_v2(
    data_root: Annotated[Path, typer.Argument(help="Folder with trajectories.jsonl.")],
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Import a data root in LongMemEval-V2 form.

    A recording that is in the store already is not read again and counts as reused.
    """
    console = WorkConsole(stderr=as_json)
    opened = Store.open(store_folder(store))
    with counting(console, "importing trajectories") as progress:
        report = import_lme_v2(data_root.resolve(), opened, progress=progress)
    if as_json:
        print_json({"store": str(opened.root), **_figures(report), "warnings": report.warnings})
        return
    print_warnings(console, report)
    figures = _told(_figures(report))
    console.print(f"{figures}; store {opened.root}", highlight=False, soft_wrap=True)


@importing.command("claude-code")
def claude_code(
    path: Annotated[Path, typer.Argument(help="~/.claude, a project's folder in it, or a session file.")],
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Import sessions of Claude Code; secrets in them are masked.

    Besides sessions and their states it counts, where there are any: reused (sessions in the store already,
    not read again), repeated (left out, because another session begins with all of them), empty (files in
    which nothing happened) and skipped (lines that could not be read).
    """
    _sessions("claude-code", path, store, as_json=as_json)


@importing.command("codex")
def codex(
    path: Annotated[
        Path, typer.Argument(help="~/.codex, a folder in it, or a session file (rollout-*.jsonl).")
    ],
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Import sessions of Codex; secrets in them are masked.

    Besides sessions and their states it counts, where there are any: reused (sessions in the store already,
    not read again), repeated (left out, because another session begins with all of them), empty (files in
    which nothing happened) and skipped (lines that could not be read).
    """
    _sessions("codex", path, store, as_json=as_json)


def _sessions(agent: str, path: Path, store: Path | None, *, as_json: bool) -> None:
    from manifests.sessions import import_sessions

    console = WorkConsole(stderr=as_json)
    opened = Store.open(store_folder(store))
    with counting(console, "importing session files") as progress:
        report = import_sessions(path.expanduser(), opened, agent, progress=progress)
    where = f" --store {shlex.quote(str(opened.root))}" if store else ""
    goal = opened.get(report.newest).goal if report.newest else ""
    following = f'runbook ask "{_question(goal)}"{where}'
    if as_json:
        print_json({"store": str(opened.root), **asdict(report), "next": following})
        return
    print_warnings(console, report)
    names = ("sessions", "states", "reused", "repeated", "empty", "skipped")
    figures = _told({name: getattr(report, name) for name in names})
    kinds = ", ".join(f"{kind} {count}" for kind, count in report.masked.items()) or "none found"
    for line in (f"{figures}; store {opened.root}", f"secrets masked: {kinds}", f"next: {following}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _question(goal: str) -> str:
    """What to ask about a session with this goal, of words that mean nothing to a shell."""
    words = _WORD.findall(goal.split("\n", 1)[0])
    if len(words) < _LEAST_WORDS or "[masked" in goal or goal.startswith(("(", "/")):
        return "..."
    asked = " ".join(words[:_MOST_WORDS])
    return f"what came of: {asked[:_LONGEST_QUESTION]}?"


def print_warnings(console: Console, report: "ImportReport | SessionReport") -> None:
    """What an import mended or left out, a line each."""
    for warning in report.warnings:
        console.print(inert(f"warning: {warning}"), markup=False, highlight=False, soft_wrap=True)


def _told(figures: dict[str, int]) -> str:
    """The first two figures, and of the others those that are not 0."""
    told = [f"{name} {value}" for place, (name, value) in enumerate(figures.items()) if value or place < 2]
    return ", ".join(told)


def _figures(report: ImportReport) -> dict[str, int]:
    return {"trajectories": report.trajectories, "states": report.states, "reused": report.reused}
