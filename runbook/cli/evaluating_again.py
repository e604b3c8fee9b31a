"""Having what a run recorded read or judged again: a new revision, which counts once it has ended."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from evals.runs.config import RunRecord
from evals.runs.folder import RunFailure, RunFolder
from evals.runs.gates import nothing_answered
from evals.runs.results import load_figures
from evals.runs.revising import number_for, renumbered
from evals.runs.room import Room
from evals.runs.stages import Stages
from runbook.cli.evaluators import open_evaluators, refuse_unofficial
from runbook.cli.places import from_here
from runbook.cli.preparing import choose_questions
from runbook.cli.running import gated, refuse_refusing_models, run_questions, show_figures
from runbook.cli.unchanged import asked_again, refuse_changed_data
from runbook.outcomes import INFRASTRUCTURE_FAILURES


def evaluate_again(path: Path, revised: RunRecord, console: Console, *, no_gates: bool = False) -> None:
    """Read or judge what is recorded again, as `revised` says; the records there are stay as they are.

    What was begun with the same settings and never ended is gone on with; a revision counts once it ended.
    """
    folder = RunFolder.open(path.absolute())
    shown = from_here(folder.path)
    refuse_unofficial(revised.config)
    prepared = gated(choose_questions(revised.config), no_gates)
    refuse_changed_data(prepared, revised)
    reads = revised.readings_since == revised.revision
    asking = revised.config if reads else revised.config.model_copy(update={"reader": None})
    refuse_refusing_models(asking)
    asked = {one.question_id for one in load_figures(folder, revised) if one.queries}
    prepared = replace(prepared, questions=[one for one in prepared.questions if one.id in asked])
    cancel = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(folder.locked())
        begun = folder.unfinished()
        revised = renumbered(revised, number_for(revised, begun, folder.next_revision()))
        evaluators = stack.enter_context(
            open_evaluators(asking, folder.path, console, cancel, votes_since=revised.votes_since)
        )
        asked_with = asked_again(evaluators.prompt_digests, reads=reads)
        revised = revised.model_copy(update={"prompt_digests": revised.prompt_digests | asked_with})
        if begun is not None and begun.revision == revised.revision and begun != revised:
            revised = renumbered(revised, folder.next_revision())  # other prompts than it was begun with
        folder.begin_revision(revised)
        stages = Stages(
            folder=folder,
            run_record=revised,
            data=prepared.data,
            memory=None,
            open_view=_no_view,
            reader=evaluators.reader,
            judge=evaluators.judge,
            retry=INFRASTRUCTURE_FAILURES,
            cancel=cancel,
            room=Room(cancel, console.print),
        )
        run_questions(
            stages, prepared, console, "the same command; until it has ended the run stays what it was"
        )
        if refusal := nothing_answered(load_figures(folder, revised)):
            raise RunFailure(f"{shown} stays what it was: {refusal}")
        folder.finish_revision(revised.revision)
    show_figures(folder, shown, console)


def _no_view(question_id: str) -> NoReturn:
    raise AssertionError(f"no memory is asked about {question_id}")
