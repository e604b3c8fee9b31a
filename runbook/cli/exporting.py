"""`runbook eval export`: a run in the public layout."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.failures import Mistake
from runbook.cli.terminal import inert, terminal


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    method: Annotated[
        str | None, typer.Option(help="The method's name on a leaderboard (default: from the agent's).")
    ] = None,
    unofficial: Annotated[
        bool, typer.Option("--unofficial", help="Export a run that is no benchmark result, stamped as such.")
    ] = False,
) -> None:
    """Write a run in the layout of the public harness.

    Its results under the public names, and its folders for the public packaging scripts.
    """
    from evals.export.write import ExportError
    from evals.export.write import export as export_run
    from evals.recorded import data_of, read_whole_run

    run = read_whole_run(folder)
    try:
        done = export_run(run, data_of(run), method=method, unofficial=unofficial)
    except ExportError as error:
        raise Mistake(str(error)) from None
    console = terminal()
    for path in done.packages or done.files:
        console.print(inert(str(path)))
    if done.label:
        console.print(f"Label: {inert(done.label)}.")
    if done.obstacles:
        console.print(f"No benchmark result: {inert('; '.join(done.obstacles))}")
