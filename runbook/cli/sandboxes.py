"""`runbook sandbox`: what crashed processes left behind."""

import typer

from runbook.cli.failures import Commands
from runbook.cli.home import workspace_registry
from runbook.cli.options import AsJson
from runbook.cli.tables import print_json
from runbook.cli.terminal import terminal

sandboxes = typer.Typer(cls=Commands, no_args_is_help=True, help="Look after sandboxes.")


@sandboxes.callback()
def _group() -> None:
    """Keep `gc` a subcommand although it is the only one."""


@sandboxes.command()
def gc(as_json: AsJson = False) -> None:
    """Remove containers and workspaces whose process is gone; those of living processes are left alone."""
    from runbook.workspace_place import sweep
    from sandbox.cgroup import reap_groups

    workspaces = [str(path) for path in sweep(workspace_registry())]
    groups = reap_groups()
    containers, engine = _reaped()
    if as_json:
        print_json(
            {"containers": containers, "workspaces": workspaces, "control_groups": groups, "engine": engine}
        )
        return
    console = terminal()
    console.print(
        f"removed {len(containers)} containers, {len(workspaces)} folders of workspaces "
        f"and {groups} control groups"
    )
    if engine:
        console.print(f"containers were not looked for: {engine}", markup=False)


def _reaped() -> tuple[list[str], str]:
    """The containers that were removed, and why none could be looked for."""
    from sandbox.docker_engine import connect
    from sandbox.protocol import SandboxError
    from sandbox.reaper import reap

    try:
        engine = connect()
    except SandboxError as error:
        return [], str(error)
    try:
        return [left.container for left in reap(engine)], ""
    finally:
        engine.close()
