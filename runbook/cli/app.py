"""All commands."""

from importlib.metadata import version
from typing import Annotated

import typer

from runbook.cli.agents import agents
from runbook.cli.asking import ask
from runbook.cli.cascading import cascade
from runbook.cli.comparing import compare
from runbook.cli.demo import demo
from runbook.cli.doctoring import doctor
from runbook.cli.evaluation import evaluation
from runbook.cli.exporting import export
from runbook.cli.failures import Commands
from runbook.cli.frontier import frontier
from runbook.cli.importing import importing
from runbook.cli.judging import judging, rejudge, reread
from runbook.cli.matrix import matrix
from runbook.cli.official import official
from runbook.cli.reporting import report
from runbook.cli.sandboxes import sandboxes
from runbook.cli.storing import storing
from runbook.cli.traces import traces
from runbook.cli.tuning import tune
from runbook.cli.watching import watch

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables break words in terminals of 80 columns
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    help="A coding agent as the memory: recorded trajectories, isolated sandboxes, span-budgeted evidence.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("agent-runbook"))
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""


app.command()(demo)
app.command()(doctor)
app.command()(ask)
app.command()(compare)
app.command()(frontier)
app.command()(traces)
app.command()(report)
app.command()(watch)
app.command()(tune)
app.add_typer(importing, name="import")
app.add_typer(storing, name="store")
evaluation.command()(export)
evaluation.command()(official)
evaluation.command()(matrix)
evaluation.command()(cascade)
evaluation.command()(rejudge)
evaluation.command()(reread)
app.add_typer(evaluation, name="eval")
app.add_typer(judging, name="judge")
app.add_typer(agents, name="agents")
app.add_typer(sandboxes, name="sandbox")
