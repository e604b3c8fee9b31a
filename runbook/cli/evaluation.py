"""`runbook eval`: run, resume, show."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.failures import Commands, Mistake
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
    JudgeModel,
    JudgeUrl,
    MemoryName,
    Model,
    ModelKey,
    ModelUrl,
    NoGates,
    NoIsolation,
    ReaderModel,
    ReaderUrl,
    SandboxName,
    StoreOption,
    Timeout,
)
from runbook.cli.terminal import WorkConsole, terminal

evaluation = typer.Typer(cls=Commands, no_args_is_help=True, help="Run, resume and look at evaluations.")


@evaluation.command()
def run(
    ctx: typer.Context,
    config: Annotated[
        Path | None,
        typer.Argument(help="Settings as TOML; options and --set win over it.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Data root in LongMemEval-V2 form.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New folder for the run.", show_default=False)] = None,
    store: StoreOption = None,
    tier: Annotated[str, typer.Option(help="Haystack tier: haystacks/lme_v2_TIER.json.")] = "small",
    memory: MemoryName = "agent",
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
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    repeats: Annotated[
        str, typer.Option(metavar="STAGE=N,...", help="Do stages N times: agent=2,reader=3,judge=3.")
    ] = "",
    votes: Annotated[
        int, typer.Option(min=1, max=99, help="Ask the judge so often, odd; the majority counts.")
    ] = 1,
    profile: Annotated[
        str, typer.Option(help="fixed, or official: the public harness's prompts and edge cases.")
    ] = "fixed",
    upstream: Annotated[
        Path | None,
        typer.Option(envvar="RUNBOOK_UPSTREAM", help="For --profile official: checkout of LongMemEval-V2."),
    ] = None,
    token_counter: Annotated[
        str, typer.Option(help="Of the reader's tokens: estimate, endpoint (its server) or file.")
    ] = "estimate",
    tokenizer: Annotated[Path | None, typer.Option(help="The reader's tokenizer.json.")] = None,
    preprocessor: Annotated[
        Path | None, typer.Option(help="The reader's preprocessor_config.json, for tokens of images.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Only the first N questions: a smoke run.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, max=10**9, help="Only N questions, each type with its share: a smoke run."),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Only the questions whose ids this file lists, one a line.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 2,
    attempts: Attempts = 3,
    timeout: Timeout = 1800.0,
    idle: Idle = 300.0,
    budget: Budget = 20,
    record: Annotated[
        Path | None, typer.Option(help="File that takes down the agent's model traffic.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Such a file, to answer the agent from; reader and judge are asked.")
    ] = None,
    workflow: Annotated[bool, typer.Option(help="Ablation: give the agent a workflow.")] = True,
    manifests: Annotated[bool, typer.Option(help="Ablation: give the agent manifests.")] = True,
    summaries: Annotated[bool, typer.Option(help="Ablation: give the agent the two long summaries.")] = False,
    helper: Annotated[bool, typer.Option(help="Ablation: give the agent the memory command.")] = True,
    candidates: Annotated[bool, typer.Option(help="Rank candidates for the agent beforehand.")] = True,
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Order of questions, sample, random baseline.")
    ] = 0,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any other setting, for example gateway.retry_seconds=60."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, run nothing.")] = False,
) -> None:
    """Run an evaluation over a data root."""
    from runbook.cli.places import Place
    from runbook.cli.planning import plan
    from runbook.cli.preparing import prepare
    from runbook.cli.running import start
    from runbook.cli.settings import settle

    settled = settle(ctx, config, changes or ())
    if dry_run:
        plan(settled, terminal())
        return
    if out is None:
        raise Mistake("name a new folder for the run with --out")
    place = Place.named(out)
    start(prepare(settled), place, WorkConsole())


@evaluation.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    retry: Annotated[
        str,
        typer.Option(
            help="Outcomes to do again: names, or the classes infrastructure and method, with commas between."
        ),
    ] = "infrastructure",
    force: Annotated[
        bool, typer.Option(help="Retry method failures that have a score; blocks export.")
    ] = False,
    no_gates: NoGates = False,
) -> None:
    """Do what is missing in a run, and what failed.

    Of what failed, the classes of --retry are done again.
    """
    from runbook.cli.running import resume as resume_run

    resume_run(folder, retry, force=force, no_gates=no_gates, console=WorkConsole())


@evaluation.command()
def show(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    errata: Annotated[
        Path | None, typer.Option(help="Errata file (TOML or JSON): also the scores with it.")
    ] = None,
    suspects: Annotated[bool, typer.Option("--suspects", help="List the doubtful scores.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the figures of a run, finished or not."""
    from evals.runs.folder import RunFolder
    from evals.runs.summary import summarise
    from runbook.cli.auditing import audit, print_audit
    from runbook.cli.places import from_here
    from runbook.cli.tables import print_json, print_summary

    summary = summarise(RunFolder.open(folder))
    looked_at = audit(folder, errata)
    if as_json:
        print_json(summary | looked_at.summary())
    else:
        print_summary(terminal(), summary, from_here(folder))
        print_audit(terminal(), looked_at, list_suspects=suspects)
