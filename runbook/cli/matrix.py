"""`runbook eval matrix`: several memories over the same questions, and one table."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from runbook.cli.build_ahead import BUILDERS
from runbook.cli.failures import Mistake, naming
from runbook.cli.matrix_tables import print_matrix
from runbook.cli.options import AsJson, NoGates
from runbook.cli.saying_once import SharedConsole
from runbook.cli.tables import print_json
from runbook.cli.terminal import terminal
from runbook.outcomes import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    from evals.matrix.plan import MatrixPlan
    from evals.recorded import RecordedRun
    from evals.runs.at_work import AtWork
    from evals.runs.execute import Progress
    from evals.runs.stages import Stages
    from runbook.cli.places import Place
    from runbook.cli.preparing import Prepared


def matrix(
    file: Annotated[Path, typer.Argument(metavar="MATRIX.toml", help="The arms.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the arms' runs; one that is there is gone on with.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Run nothing, show what is recorded.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all arms, run nothing.")] = False,
    no_gates: NoGates = False,
    as_json: AsJson = False,
) -> None:
    """Ask several memories the same questions, and compare them.

    Their questions are interleaved; all are compared with one of them.
    """
    from evals.matrix.fitting import MisfitError, refuse_unfit
    from evals.matrix.plan import read_plan
    from evals.matrix.table import matrix_table
    from evals.recorded import gold_of_run, read_run
    from evals.runs.config_file import ConfigError
    from runbook.cli.home import store_folder
    from runbook.cli.places import Place
    from runbook.cli.planning import plan_arms

    try:
        plan = read_plan(file, store=store_folder(None))
    except ConfigError as error:
        raise Mistake(str(error)) from None
    if dry_run:
        plan_arms(plan.arms, terminal())
        return
    if out is None:
        raise Mistake("name a folder for the arms' runs with --out")
    place = Place.named(out)
    if not show:
        run_arms(plan, place, SharedConsole(stderr=as_json), no_gates=no_gates)
    with place.shown_in_errors():
        runs = {name: read_run(place.path / name) for name in plan.arms}
    try:
        refuse_unfit(plan, runs)
    except MisfitError as error:
        raise Mistake(place.showing(str(error))) from None
    gold, _ = gold_of_run(runs[plan.reference])
    table = matrix_table(runs, plan.reference, gold, seed=plan.arms[plan.reference].seed)
    if as_json:
        print_json(table)
    else:
        print_matrix(terminal(), table)
    if not show:
        _refuse_silent(runs)


def _refuse_silent(runs: "Mapping[str, RecordedRun]") -> None:
    """Raise RunFailure where an arm has no answer at all, for want of machine or model."""
    from evals.runs.folder import RunFailure
    from evals.runs.gates import nothing_answered

    for name, run in runs.items():
        if refusal := nothing_answered(list(run.results.values())):
            raise RunFailure(f"arm {name}: {refusal}")


def run_arms(plan: "MatrixPlan", out: "Place", console: SharedConsole, *, no_gates: bool = False) -> None:
    """Ask the arms the plan's questions in turn, each into a run of its own below `out`."""
    from evals.matrix.interleave import interleave
    from runbook.cli.preparing import prepare

    prepared = {}
    for name, config in plan.arms.items():
        with naming(f"arm {name}"):
            prepared[name] = prepare(config)
    questions = next(iter(prepared.values())).questions
    concurrency = max(config.concurrency for config in plan.arms.values())
    gates = {name: () if no_gates else config.gates for name, config in plan.arms.items()}
    cancel = threading.Event()
    with out.shown_in_errors(), ExitStack() as stack:
        # One arm's builder serves all: they ask about the same haystacks at about the same time.
        arms: dict[str, Stages] = {}
        with console.gathering():
            for name, one in prepared.items():
                console.speak_for(name)
                builders = 0 if arms else BUILDERS  # the arms need the same haystacks
                arms[name] = _opened(one, out / name, console, cancel, stack, builders=builders)
        clocks = {name: stages.at_work for name, stages in arms.items()}
        try:
            with _progress(console, len(arms) * len(questions), partial(told_at_work, clocks)) as update:
                interleave(arms, questions, concurrency=concurrency, on_progress=update, gates=gates)
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on", soft_wrap=True)
            raise


def _opened(
    prepared: "Prepared",
    place: "Place",
    console: Console,
    cancel: threading.Event,
    stack: ExitStack,
    *,
    builders: int,
) -> "Stages":
    """The stages of an arm, whose run folder is made, or opened where its settings are the same."""
    from evals.runs.folder import RUN_FILE, RunFolder
    from runbook.cli.running import creating, open_stages, reopening

    if not (place.path / RUN_FILE).exists():
        open_run = creating(prepared, place.path)
    else:
        run = RunFolder.open(place.path)
        record = run.record()
        if record.config != prepared.config or dict(prepared.data.digests) != record.data_digests:
            raise Mistake(
                f"{place.shown} was made with other settings or other data: name another folder with --out, "
                "or restore them"
            )
        open_run = reopening(prepared, run, record)
    return open_stages(
        prepared, place.path, open_run, INFRASTRUCTURE_FAILURES, console, cancel, stack, builders=builders
    )


def told_at_work(arms: "Mapping[str, AtWork]") -> str:
    """What the arms wait for: "agent: query 2 (95 s); rag-slice: haystack 1 (3 s)"; "" for nothing."""
    told = {name: at_work.told() for name, at_work in arms.items()}
    return "; ".join(f"{name}: {what}" for name, what in told.items() if what)


@contextmanager
def _progress(
    console: Console, total: int, at_work: Callable[[], str]
) -> Iterator[Callable[[str, "Progress"], None]]:
    from runbook.cli.progress import run_progress

    with run_progress(console, total, "answer", at_work=at_work) as update:
        yield lambda _arm, progress: update(progress)
