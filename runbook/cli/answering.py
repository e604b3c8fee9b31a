"""What `runbook ask` does."""

import threading
import time
from pathlib import Path

import typer
from rich.console import Console

from manifests.store import Store
from runbook.cli.assembly import ArmSettings, assemble_memory, may_write_haystacks
from runbook.cli.failures import FAILURE, Mistake
from runbook.cli.haystacks import Haystacks
from runbook.cli.home import home
from runbook.cli.tables import print_json
from runbook.cli.terminal import inert, terminal
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.question import Question
from runbook.question_image import UnusableImageError, check_question_image


def answer(
    question: str,
    image: Path | None,
    *,
    store: Path,
    settings: ArmSettings,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Ask everything in a store one question; exits with 1 where no evidence was found."""
    begun = time.monotonic()
    console = terminal(stderr=True)
    if not question.strip():
        raise Mistake("the question is empty")
    if image is not None:
        _refuse_unusable(image)
    opened = Store.open(store)
    slugs = [entry.slug for entry in opened.entries()]
    if not slugs:
        raise Mistake(f"{opened.root} is empty: import recordings first (`runbook import --help`)")
    if keep is not None and keep.is_dir() and any(keep.iterdir()):
        raise Mistake(f"--keep: {keep} is not empty; name a new folder")
    folder = keep.resolve() if keep else home() / "asked"
    with (
        assemble_memory(
            settings, lambda line: console.print(line, highlight=False, soft_wrap=True)
        ) as memory,
        Haystacks(opened, console.print).open(slugs, private=may_write_haystacks(settings)) as view,
    ):
        memory.insert(view)
        result = memory.query(
            QueryTask(
                question=Question(text=question, image=image.resolve() if image else None),
                haystack=view,
                folder=folder,
                cancel=threading.Event(),
                labels={"run": "ask"},
            )
        )
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        _print(terminal(), result, folder, time.monotonic() - begun)
    if result.outcome is not Outcome.OK:
        raise typer.Exit(FAILURE)


def _refuse_unusable(image: Path) -> None:
    if not image.is_file():
        raise Mistake(f"--image: there is no file {image}")
    try:
        check_question_image(image)
    except UnusableImageError as error:
        raise Mistake(f"--image: {image} {error.problem}: give a whole picture") from None


def _print(console: Console, result: QueryResult, folder: Path, seconds: float) -> None:
    if result.evidence is None or result.evidence.is_empty:
        detail = result.attempts[-1].detail if result.attempts else ""
        console.print(
            inert(f"no evidence ({result.outcome}) {detail}".rstrip()), markup=False, highlight=False
        )
    else:
        console.print(inert(result.evidence.memory_markdown), markup=False, highlight=False, soft_wrap=True)
        console.print("\nStates, most important first:", highlight=False)
        for span in result.evidence.trajectory_spans:
            console.print(
                f"  {inert(span.trajectory_id)} {span.start_state_index}-{span.end_state_index}",
                markup=False,
                highlight=False,
            )
    last = result.attempts[-1].number if result.attempts else 0
    console.print(
        f"\n{seconds:.1f} s, of which the query {result.seconds:.1f} s; "
        f"what the agent did is in {folder / str(last)}",
        highlight=False,
        soft_wrap=True,
    )
