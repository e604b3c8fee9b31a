"""`runbook eval cascade`: what a quick memory before a slow one would score and take."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from runbook.cli.failures import Mistake
from runbook.cli.options import AsJson
from runbook.cli.tables import number, percent, print_json
from runbook.cli.terminal import inert, terminal


def cascade(
    quick: Annotated[Path, typer.Argument(metavar="QUICK", help="Run of a memory that searches.")],
    slow: Annotated[Path, typer.Argument(metavar="SLOW", help="Run of a better, slower memory.")],
    as_json: AsJson = False,
) -> None:
    """Tell what a cascade of two recorded runs would score.

    Thresholds are chosen on other questions than those they are scored on.
    """
    from evals.matrix.cascade import CascadeError, cascade_curve
    from evals.recorded import gold_of_run, read_run

    first, second = read_run(quick), read_run(slow)
    if first.record.data_digests != second.record.data_digests:
        raise Mistake(f"{quick} and {slow} are runs over different data")
    gold, _ = gold_of_run(first)
    try:
        curve = cascade_curve(first, second, gold, seed=first.record.config.seed)
    except CascadeError as error:
        raise Mistake(str(error)) from None
    if as_json:
        print_json(curve)
        return
    console = terminal()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("wanted quick", "quick", curve.measure.replace("_", " "), "avg s", "thresholds"):
        table.add_column(title, justify="right", no_wrap=True)
    for point in curve.points:
        cells = (
            percent(point.wanted_share),
            percent(point.quick_share),
            percent(point.value),
            number(point.seconds),
            " / ".join(f"{threshold:.3f}" for threshold in point.thresholds),
        )
        table.add_row(*map(Text, cells))
    console.print(table)
    console.print(
        f"{curve.questions} questions: {inert(first.name)} before {inert(second.name)}; each threshold is "
        f"chosen on one half ({curve.halves[0]} and {curve.halves[1]} questions) and told on the other. "
        "Run it with `--memory cascade --set retrieval.cascade.threshold=...`."
    )
    for remark in curve.remarks:
        console.print(inert(remark))
