"""`runbook ask`: one question to everything in a store."""

import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manifests.store import Store
from manifests.views import Views
from runbook.cli.assembly import ArmSettings, assemble_memory
from runbook.cli.failures import FAILURE, Mistake
from runbook.cli.home import home, store_folder
from runbook.cli.options import (
    AgentCommand,
    AgentName,
    AsJson,
    Attempts,
    BaseImage,
    Budget,
    NoIsolation,
    SandboxName,
    StoreOption,
    Timeout,
)
from runbook.cli.tables import print_json
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.question import Question


def ask(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    store: StoreOption = None,
    image: Annotated[Path | None, typer.Option(help="A picture the question refers to.")] = None,
    agent: AgentName = "scout",
    agent_command: AgentCommand = None,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    allow_no_isolation: NoIsolation = False,
    attempts: Attempts = 3,
    timeout: Timeout = 600.0,
    budget: Budget = 20,
    keep: Annotated[Path | None, typer.Option(help="New folder for the attempts (default: a cache).")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask everything in a store one question and print the evidence."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not question.strip():
        raise Mistake("the question is empty")
    if image is not None and not image.is_file():
        raise Mistake(f"--image: there is no file {image}")
    opened = Store.open(store_folder(store))
    slugs = [entry.slug for entry in opened.entries()]
    if not slugs:
        raise Mistake(f"{opened.root} is empty: import recordings first (`runbook import --help`)")
    settings = ArmSettings(
        agent=agent,
        agent_command=agent_command,
        sandbox=sandbox,
        base_image=base_image,
        allow_no_isolation=allow_no_isolation,
        attempts=attempts,
        timeout=timeout,
        budget=budget,
    )
    folder = keep.resolve() if keep else home() / "asked"
    with (
        assemble_memory(
            settings, lambda line: console.print(line, highlight=False, soft_wrap=True)
        ) as memory,
        Views(opened).acquire(slugs) as view,
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
        _print(Console(), result, folder)
    if result.outcome is not Outcome.OK:
        raise typer.Exit(FAILURE)


def _print(console: Console, result: QueryResult, folder: Path) -> None:
    if result.evidence is None or result.evidence.is_empty:
        detail = result.attempts[-1].detail if result.attempts else ""
        console.print(f"no evidence ({result.outcome}) {detail}".rstrip(), markup=False, highlight=False)
    else:
        console.print(result.evidence.memory_markdown, markup=False, highlight=False, soft_wrap=True)
        console.print("\nStates, most important first:", highlight=False)
        for span in result.evidence.trajectory_spans:
            console.print(
                f"  {span.trajectory_id} {span.start_state_index}-{span.end_state_index}",
                markup=False,
                highlight=False,
            )
    last = result.attempts[-1].number if result.attempts else 0
    console.print(
        f"\n{result.seconds:.1f} s; what the agent did is in {folder / str(last)}",
        highlight=False,
        soft_wrap=True,
    )
