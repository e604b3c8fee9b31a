"""`runbook eval official`: our controller inside the public harness of a user's checkout."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.failures import Mistake
from runbook.cli.home import store_folder
from runbook.cli.options import (
    AgentCommand,
    AgentName,
    AgentVersion,
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

_READER = ("--temperature", "0.6", "--top-p", "0.95", "--top-k", "20")
_REQUESTS = ("--reader-max-concurrent-requests", "16")
"""Of the public runner; the harness alone would send all questions at once."""


def official(
    upstream: Annotated[
        Path,
        typer.Option(envvar="RUNBOOK_UPSTREAM", help="A checkout of LongMemEval-V2.", show_default=False),
    ],
    data: Annotated[Path, typer.Option(help="Data root in LongMemEval-V2 form.", show_default=False)],
    domain: Annotated[str, typer.Option(help="web or enterprise.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="The folder METHOD_DOMAIN_TIER is made here.", show_default=False)
    ],
    reader: Annotated[str, typer.Option(help="Base URL of the reader's endpoint.", show_default=False)],
    reader_model: Annotated[str, typer.Option(help="The reader's model.")] = "Qwen/Qwen3.5-9B",
    judge: Annotated[str | None, typer.Option(help="Base URL of the judge's endpoint.")] = None,
    judge_model: Annotated[str, typer.Option(help="The judge's model.")] = "gpt-5.2",
    tier: Annotated[str, typer.Option(help="small or medium.")] = "small",
    method: Annotated[str | None, typer.Option(help="The method's name (default: from the agent's).")] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Questions at a time; over 1 extends the harness's own list in memory."
        ),
    ] = 1,
    limit: Annotated[int | None, typer.Option(min=1, max=10**9, help="Only the first N questions.")] = None,
    store: StoreOption = None,
    agent: AgentName = "scout",
    agent_command: AgentCommand = None,
    agent_version: AgentVersion = "",
    model: Model = "",
    effort: Effort = "",
    model_url: ModelUrl = None,
    model_key: ModelKey = None,
    idle: Idle = 300.0,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    allow_no_isolation: NoIsolation = False,
    attempts: Attempts = 3,
    timeout: Timeout = 1800.0,
    budget: Budget = 20,
) -> None:
    """Run the public harness with our controller as its memory."""
    from importlib.metadata import version

    from evals.dataset import load_data_root
    from evals.official.backend import Backend, OfficialError, QueryFailure
    from evals.official.launcher import HarnessRun, launch
    from evals.runs.folder import RunFailure
    from manifests.importing import import_lme_v2
    from manifests.store import Store
    from runbook.cli.assembly import ArmSettings, assemble_memory, may_write_haystacks
    from runbook.cli.haystacks import Haystacks
    from runbook.cli.importing import print_warnings
    from runbook.cli.terminal import terminal

    console = terminal(stderr=True)
    root = load_data_root(data, tier)
    chosen = [question for question in root.questions if question.domain == domain][:limit]
    if not chosen:
        raise Mistake(f"--domain: {data} has no question of domain {domain!r}")
    wanted = {one for question in chosen for one in root.haystacks[question.id]}
    opened = Store.open(store_folder(store))
    report = import_lme_v2(root.path, opened, only=wanted)
    print_warnings(console, report)
    haystacks = Haystacks(opened, console.print)
    settings = ArmSettings(
        agent=agent,
        agent_command=agent_command,
        agent_version=agent_version,
        model=model,
        effort=effort,
        model_url=model_url,
        model_key=model_key,
        idle=idle,
        sandbox=sandbox,
        base_image=base_image,
        allow_no_isolation=allow_no_isolation,
        attempts=attempts,
        timeout=timeout,
        budget=budget,
    )
    name = method or f"runbook-{Path(agent).name.removesuffix('.toml')}"
    run = HarnessRun(
        data=root.path,
        domain=domain,
        tier=tier,
        out=out.resolve() / f"{name}_{domain}_{tier}",
        arguments=(
            *("--model", reader_model, "--base-url", reader, *_READER, *_REQUESTS),
            *("--evaluator-model", judge_model),
            *(("--evaluator-base-url", judge) if judge else ()),
        ),
        workers=workers,
        limit=limit,
        description=(("agent", agent), ("version", version("agent-runbook"))),
    )
    with assemble_memory(settings, console.print) as memory:
        backend = Backend(
            memory=memory,
            open_view=partial(haystacks.open, private=may_write_haystacks(settings)),
            slugs=dict(report.slugs),
            haystacks=frozenset(frozenset(root.haystacks[question.id]) for question in chosen),
        )
        try:
            launch(upstream, run, backend)
        except QueryFailure as error:
            raise RunFailure(str(error)) from None
        except OfficialError as error:
            raise Mistake(str(error)) from None
    terminal().print(str(run.out))
