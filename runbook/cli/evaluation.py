"""`runbook eval`: run, resume, show."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.failures import Commands, Mistake
from runbook.cli.home import store_folder
from runbook.cli.options import (
    AgentCommand,
    AgentName,
    AsJson,
    Attempts,
    BaseImage,
    Budget,
    JudgeModel,
    JudgeUrl,
    NoIsolation,
    ReaderModel,
    ReaderUrl,
    SandboxName,
    StoreOption,
    Timeout,
)
from runbook.cli.terminal import terminal
from runbook.complaints import of_system

evaluation = typer.Typer(cls=Commands, no_args_is_help=True, help="Run, resume and look at evaluations.")

Data = Annotated[Path, typer.Option(help="Data root in LongMemEval-V2 form.", show_default=False)]
Out = Annotated[Path, typer.Option(help="New folder for the run.", show_default=False)]


@evaluation.command()
def run(
    data: Data,
    out: Out,
    store: StoreOption = None,
    tier: Annotated[str, typer.Option(help="Haystack tier: haystacks/lme_v2_TIER.json.")] = "small",
    agent: AgentName = "scout",
    agent_command: AgentCommand = None,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    allow_no_isolation: NoIsolation = False,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=10**9, help="Only the first N questions: a smoke run.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Only the questions whose ids this file lists, one a line.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Questions at a time.")] = 2,
    attempts: Attempts = 3,
    timeout: Timeout = 1800.0,
    budget: Budget = 20,
    workflow: Annotated[bool, typer.Option(help="Ablation: give the agent a workflow.")] = True,
    manifests: Annotated[bool, typer.Option(help="Ablation: give the agent manifests.")] = True,
    summaries: Annotated[bool, typer.Option(help="Ablation: give the agent the two long summaries.")] = False,
    helper: Annotated[bool, typer.Option(help="Ablation: give the agent the memory command.")] = True,
    candidates: Annotated[bool, typer.Option(help="Rank candidates for the agent beforehand.")] = True,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Order of questions, random baseline.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, run nothing.")] = False,
) -> None:
    """Run an evaluation over a data root."""
    from evals.runs.config import RunConfig
    from runbook.cli.endpoints import endpoint
    from runbook.cli.running import prepare, start

    config = RunConfig(
        data=data.resolve(),
        tier=tier,
        store=store_folder(store),
        agent=agent,
        agent_command=agent_command,
        sandbox=sandbox,
        base_image=base_image,
        allow_no_isolation=allow_no_isolation,
        reader=endpoint("reader", reader, reader_model),
        judge=endpoint("judge", judge, judge_model),
        limit=limit,
        question_ids=_question_ids(questions),
        concurrency=concurrency,
        attempts=attempts,
        timeout=timeout,
        budget=budget,
        workflow=workflow,
        manifests=manifests,
        summaries=summaries,
        helper=helper,
        candidates=candidates,
        seed=seed,
    )
    console = terminal()
    prepared = prepare(config)
    if dry_run:
        prepared.describe(console)
        return
    start(prepared, out, console)


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
) -> None:
    """Do what is missing in a run, and what failed in the chosen classes."""
    from runbook.cli.running import resume as resume_run

    resume_run(folder, retry, force=force, console=terminal())


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
    from runbook.cli.tables import print_json, print_summary

    summary = summarise(RunFolder.open(folder))
    looked_at = audit(folder, errata)
    if as_json:
        print_json(summary | looked_at.summary())
    else:
        print_summary(terminal(), summary, folder)
        print_audit(terminal(), looked_at, list_suspects=suspects)


def _question_ids(file: Path | None) -> tuple[str, ...] | None:
    if file is None:
        return None
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Mistake(f"--questions: {of_system(error)}") from None
    except UnicodeDecodeError as error:
        raise Mistake(f"--questions: {file}: byte {error.start + 1} is not UTF-8 (save it as UTF-8)") from None
    ids = tuple(line.strip() for line in lines if line.strip())
    if not ids:
        raise Mistake(f"--questions: {file} lists no question id")
    return ids
