"""`runbook eval matrix`: several memories over the same questions, and one table."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runbook.cli.failures import Mistake
from runbook.cli.options import AsJson
from runbook.cli.tables import NONE, counted, number, print_json
from runbook.cli.terminal import inert, terminal
from runbook.outcomes import INFRASTRUCTURE_FAILURES

if TYPE_CHECKING:
    from evals.matrix.plan import MatrixPlan
    from evals.matrix.table import ArmRow, MatrixTable
    from evals.runs.execute import Progress
    from evals.runs.stages import Stages
    from runbook.cli.preparing import Prepared


_MEASURES = {"all_pieces_hit": "all pieces", "answer_in_context": "in context"}


def matrix(
    file: Annotated[Path, typer.Argument(metavar="MATRIX.toml", help="The arms.")],
    out: Annotated[Path, typer.Option(help="Folder of the arms' runs; one that is there is gone on with.")],
    show: Annotated[bool, typer.Option("--show", help="Run nothing, show what is recorded.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask several memories the same questions, and compare them.

    Their questions are interleaved; all are compared with one of them.
    """
    from evals.matrix.plan import read_plan
    from evals.matrix.table import matrix_table
    from evals.recorded import gold_of_run, read_run
    from evals.runs.config_file import ConfigError
    from runbook.cli.home import store_folder

    try:
        plan = read_plan(file, store=store_folder(None))
    except ConfigError as error:
        raise Mistake(str(error)) from None
    console = terminal(stderr=as_json)
    if not show:
        _run(plan, out, console)
    runs = {name: read_run(out / name) for name in plan.arms}
    gold, _ = gold_of_run(runs[plan.reference])
    table = matrix_table(runs, plan.reference, gold, seed=plan.arms[plan.reference].seed)
    if as_json:
        print_json(table)
    else:
        print_matrix(console, table)


def _run(plan: "MatrixPlan", out: Path, console: Console) -> None:
    from evals.matrix.interleave import interleave
    from runbook.cli.preparing import prepare

    prepared = {name: prepare(config) for name, config in plan.arms.items()}
    questions = next(iter(prepared.values())).questions
    concurrency = max(config.concurrency for config in plan.arms.values())
    cancel = threading.Event()
    with ExitStack() as stack:
        # One arm's builder serves all: they ask about the same haystacks at about the same time.
        arms = {
            name: _opened(one, out / name, console, cancel, stack, builders=int(not place))
            for place, (name, one) in enumerate(prepared.items())
        }
        try:
            with _progress(console, len(arms) * len(questions)) as update:
                interleave(arms, questions, concurrency=concurrency, on_progress=update)
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on", soft_wrap=True)
            raise


def _opened(
    prepared: "Prepared",
    folder: Path,
    console: Console,
    cancel: threading.Event,
    stack: ExitStack,
    *,
    builders: int,
) -> "Stages":
    """The stages of an arm, whose run folder is made, or opened where its settings are the same."""
    from evals.runs.folder import RUN_FILE, RunFolder
    from runbook.cli.running import creating, open_stages, reopening

    if not (folder / RUN_FILE).exists():
        open_run = creating(prepared, folder)
    else:
        run = RunFolder.open(folder)
        record = run.record()
        if record.config != prepared.config or dict(prepared.data.digests) != record.data_digests:
            raise Mistake(
                f"{folder} was made with other settings or other data: name another folder with --out, "
                "or restore them"
            )
        open_run = reopening(prepared, run, record)
    return open_stages(
        prepared, folder, open_run, INFRASTRUCTURE_FAILURES, console, cancel, stack, builders=builders
    )


@contextmanager
def _progress(console: Console, total: int) -> Iterator[Callable[[str, "Progress"], None]]:
    from runbook.cli.progress import run_progress

    with run_progress(console, total) as update:
        yield lambda _arm, progress: update(progress)


def print_matrix(console: Console, table: "MatrixTable") -> None:
    """Two tables of at most 80 columns: what each arm found and took, and the differences."""
    console.print(_figures(table.rows))
    console.print()
    console.print(_differences(table))
    for line in _remarks(table):
        console.print(inert(line), markup=False, highlight=False, soft_wrap=True)


def _figures(rows: "list[ArmRow]") -> Table:
    drawn = _table("arm", "hit", "in context", "accuracy", "p50/p95 s", "tokens", "USD")
    for row in rows:
        cells = [
            inert(row.name),
            _share(row.evidence_hit),
            _share(row.answer_in_context) + _ends(row.answer_in_context_interval),
            _share(row.accuracy) + _ends(row.accuracy_interval),
            f"{number(row.latency['p50'])}/{number(row.latency['p95'])}",
            _thousands(row.tokens),
            NONE if row.cost_usd is None else f"{row.cost_usd:.2f}",
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def _differences(table: "MatrixTable") -> Table:
    against = f"against {inert(table.reference)}"
    drawn = _table(against, "measure", "n", "points (95 %)", "p", "Holm", "latency")
    for one in table.differences:
        between = one.interval
        ends = f" ({100 * between.low:+.0f} to {100 * between.high:+.0f})" if between else ""
        cells = [
            inert(one.arm),
            _MEASURES.get(one.measure, one.measure),
            str(one.questions),
            f"{100 * one.difference:+.1f}{ends}",
            _p(one.p),
            _p(one.p_holm),
            NONE if one.latency_ratio is None else f"x {one.latency_ratio:.2f}",
        ]
        drawn.add_row(*map(Text, cells))
    return drawn


def _remarks(table: "MatrixTable") -> list[str]:
    lines = [
        "hit: share of gold pieces; in context: share of answers that a context holds; accuracy: of all "
        "questions; both with Wilson's 95 % interval. Tokens and USD: of the memory's own queries. "
        "Differences: bootstrap over clusters of questions; p: exact McNemar; Holm: held over the table."
    ]
    for row in table.rows:
        if row.coverage is not None and row.coverage < 1:
            lines.append(f"{row.name}: only {100 * row.coverage:.1f} % of its questions have a figure")
        if row.insert and (row.insert["embedded_texts"] or row.insert["written_trajectories"]):
            lines.append(f"{row.name}: {_insert(row.insert)}")
    if table.leak is not None:
        lines.append(str(table.leak))
    return lines


def _insert(cost: Mapping[str, Any]) -> str:
    return (
        f"preparing {counted(cost['haystacks'], 'haystack')} took {number(cost['seconds'])} s, "
        f"{counted(cost['embedded_texts'], 'embedded text')}, "
        f"{counted(cost['written_trajectories'], 'trajectory', 'trajectories')} written about "
        "(insert side, not in the latency)"
    )


def _table(*titles: str) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, title in enumerate(titles):
        drawn.add_column(title, justify="right" if place else "left", no_wrap=True)
    return drawn


def _share(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def _ends(interval: list[float] | None) -> str:
    return f" ({100 * interval[0]:.0f}-{100 * interval[1]:.0f})" if interval else ""


def _thousands(count: int | None) -> str:
    return NONE if count is None else f"{count / 1000:,.1f} k"


def _p(value: float | None) -> str:
    if value is None:
        return NONE
    return "<.001" if value < 0.001 else f"{value:.3f}"
