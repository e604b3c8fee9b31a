"""`runbook sandbox`: what crashed processes left behind."""

import typer
from rich.console import Console

from runbook.cli.failures import Commands
from runbook.cli.options import AsJson
from runbook.cli.tables import print_json
from sandbox.docker_engine import connect
from sandbox.protocol import SandboxError
from sandbox.reaper import reap

sandboxes = typer.Typer(cls=Commands, no_args_is_help=True, help="Look after sandboxes.")


@sandboxes.callback()
def _group() -> None:
    """Keep `gc` a subcommand although it is the only one."""


@sandboxes.command()
def gc(as_json: AsJson = False) -> None:
    """Remove sandboxes whose process is gone; those of living processes are left alone."""
    try:
        engine = connect()
    except SandboxError as error:
        if as_json:
            print_json({"removed": [], "engine": str(error)})
        else:
            Console().print(f"nothing to clean: {error}", highlight=False, soft_wrap=True)
        return
    try:
        removed = reap(engine)
    finally:
        engine.close()
    if as_json:
        print_json({"removed": [left.container for left in removed], "engine": None})
    else:
        Console().print(f"removed {len(removed)} sandboxes", highlight=False)
