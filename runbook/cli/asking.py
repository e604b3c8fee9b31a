"""`runbook ask`: one question to everything in a store."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.home import existing_store
from runbook.cli.options import (
    AgentCommand,
    AgentName,
    AgentVersion,
    AsJson,
    Attempts,
    BaseImage,
    Budget,
    Effort,
    Idle,
    Model,
    ModelKey,
    ModelUrl,
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
    agent_version: AgentVersion = "",
    model: Model = "",
    effort: Effort = "",
    model_url: ModelUrl = None,
    model_key: ModelKey = None,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    allow_no_isolation: NoIsolation = False,
    attempts: Attempts = 3,
    timeout: Timeout = 600.0,
    idle: Idle = 300.0,
    budget: Budget = 20,
    keep: Annotated[Path | None, typer.Option(help="New folder for the attempts (default: a cache).")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a store one question, and print the evidence."""
    from runbook.cli.answering import answer
    from runbook.cli.assembly import ArmSettings

    settings = ArmSettings(
        agent=agent,
        agent_command=agent_command,
        agent_version=agent_version,
        model=model,
        effort=effort,
        model_url=model_url,
        model_key=model_key,
        sandbox=sandbox,
        base_image=base_image,
        allow_no_isolation=allow_no_isolation,
        attempts=attempts,
        timeout=timeout,
        idle=idle,
        budget=budget,
    )
    answer(question, image, store=existing_store(store), settings=settings, keep=keep, as_json=as_json)
