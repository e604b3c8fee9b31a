"""`runbook traces`: what agents did in a run, where their time went and where the gold got lost."""

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runbook.cli.failures import Mistake
from runbook.cli.options import AsJson
from runbook.cli.terminal import inert, terminal

if TYPE_CHECKING:
    from evals.traces.run import RunTraces


def traces(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a row an attempt.")] = False,
    plots: Annotated[
        Path | None,
        typer.Option("--plots", metavar="FOLDER", help="Also draw pictures here, as PNG and as SVG."),
    ] = None,
) -> None:
    """Show what the agents of a run did, and where time went.

    Means over questions, for the run as a whole, by question type and by outcome.

    \b
    Classes of tool calls:
      output  writes or hands in evidence     guided  ./memory, manifests, candidates, the index
      visual  looks at screenshots            raw     searches or reads the haystack's files itself
      setup   the task, the helper's help     other   anything else
    How far the gold came, mean over questions of the share of its pieces:
      candidates   among the first candidates that the agent was given
      listed       named in what a tool gave back (excerpts, so at least this)
      opened       asked for by the agent
      cited        in the evidence that it handed in
      in context   cited, and not cut off for the reader
      right        questions answered rightly; "all cited": rightly, with every piece cited
    """
    if as_json and as_csv:
        raise Mistake("choose one of --json and --csv")
    from evals.recorded import read_run
    from evals.runs.remarks import remarks_of
    from evals.traces.aggregate import group_figures
    from evals.traces.run import trace_run
    from runbook.cli.tables import print_json
    from runbook.cli.trace_tables import print_traces

    if plots is not None and plots.exists() and not plots.is_dir():
        raise Mistake(f"{plots} is a file: --plots names a folder")
    read = [trace_run(run) for run in runs]
    for one, run in zip(read, runs, strict=True):
        one.notes += [remark.text for remark in remarks_of(read_run(run))]
    if as_json:
        print_json(
            [one.model_dump() | {"groups": [g.model_dump() for g in group_figures(one)]} for one in read]
        )
    elif as_csv:
        _print_csv(read)
    else:
        print_traces(terminal(), read)
    if plots is not None:
        _draw(read, plots)


def _draw(read: Sequence["RunTraces"], folder: Path) -> None:
    from evals.traces.plots import write_plots

    drawn = write_plots(read, folder)
    console = terminal(stderr=True)
    if drawn.paths:
        console.print(f"drawn: {', '.join(inert(str(path)) for path in drawn.paths)}")
    for line in drawn.left_out:
        console.print(line)


def _print_csv(read: Sequence["RunTraces"]) -> None:
    rows = [row for one in read for row in _rows(one)]
    writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]) if rows else ["run"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _rows(one: "RunTraces") -> Iterator[dict[str, object]]:
    from evals.traces.attempt import AttemptFigures
    from evals.traces.classes import rules

    for question in one.questions:
        for attempt in question.attempts:
            told = attempt.figures or AttemptFigures()
            plain = told.model_dump(exclude={"classes", "first_rounds", "tokens"})
            plain = plain if attempt.figures else dict.fromkeys(plain)
            tokens = told.tokens.model_dump() if told.tokens else {}
            last = attempt is question.attempts[-1]
            yield {
                "run": one.run,
                "agent": question.agent,
                "question_id": _cell(question.question_id),
                "question_type": _cell(question.question_type),
                "score": question.score,
                "attempt": attempt.number,
                "outcome": attempt.outcome,
                "attempt_seconds": attempt.seconds,
                **plain,
                **{
                    f"calls_{kind}": told.classes.get(kind, 0) if attempt.figures else None
                    for kind in rules().order
                },
                **{f"tokens_{name}": tokens.get(name) for name in _TOKENS},
                **(question.funnel.model_dump() if last else dict.fromkeys(question.funnel.model_dump())),
                "states_opened": question.states_opened if last else None,
                "first_gold_seconds": question.first_gold_seconds if last else None,
                "error_class": question.error_class if last else None,
            }


_TOKENS = ("fresh_input", "cache_read", "cache_write", "output", "reasoning")


def _cell(text: str) -> str:
    """Text of the data that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
