"""`runbook ask`: one question to everything in a store."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.home import existing_store
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
    from runbook.cli.answering import answer
    from runbook.cli.assembly import ArmSettings

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
    answer(question, image, store=existing_store(store), settings=settings, keep=keep, as_json=as_json)
