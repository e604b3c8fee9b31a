"""`runbook sandbox`: what crashed processes and older versions left behind."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from runbook.cli.failures import Commands
from runbook.cli.home import workspace_registry
from runbook.cli.options import AsJson, BaseImage
from runbook.cli.tables import counted, print_json
from runbook.cli.terminal import terminal

if TYPE_CHECKING:
    from docker import DockerClient

sandboxes = typer.Typer(cls=Commands, no_args_is_help=True, help="Look after sandboxes.")


@dataclass(slots=True)
class _Engine:
    """What was removed from the docker engine, and why not more."""

    containers: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    trouble: str = ""


@sandboxes.callback()
def _group() -> None:
    """Keep `gc` a subcommand although it is the only one."""


@sandboxes.command()
def gc(base_image: BaseImage = None, as_json: AsJson = False) -> None:
    """Remove what dead processes and older versions left.

    That is containers, workspaces, images and helpers. What a living process uses is left alone.
    """
    from runbook.cli.assembly import helper_copies
    from runbook.workspace_place import sweep
    from sandbox.cgroup import reap_groups

    workspaces = [str(path) for path in sweep(workspace_registry())]
    groups = reap_groups()
    helpers = [str(path) for path in helper_copies().remove_stale()]
    engine = _cleaned(base_image)
    if as_json:
        print_json(
            {
                "containers": engine.containers,
                "images": engine.images,
                "workspaces": workspaces,
                "control_groups": groups,
                "helpers": helpers,
                "engine": engine.trouble,
            }
        )
        return
    console = terminal()
    figures = [
        counted(len(engine.containers), "container"),
        counted(len(engine.images), "outdated image"),
        counted(len(workspaces), "folder of workspaces", "folders of workspaces"),
        counted(groups, "control group"),
        counted(len(helpers), "outdated copy of the helpers", "outdated copies of the helpers"),
    ]
    console.print(f"removed {', '.join(figures)}")
    if engine.trouble:
        console.print(f"containers and images were not looked for: {engine.trouble}", markup=False)


def _cleaned(base_image: str | None) -> _Engine:
    """The engine without its leftovers, where there is one."""
    from sandbox.docker_engine import connect
    from sandbox.protocol import SandboxError
    from sandbox.reaper import reap

    done = _Engine()
    try:
        engine = connect()
    except SandboxError as error:
        done.trouble = str(error)
        return done
    try:
        done.containers = [left.container for left in reap(engine)]
        done.images = _outdated_images_removed(engine, base_image)
    finally:
        engine.close()
    return done


def _outdated_images_removed(engine: "DockerClient", base_image: str | None) -> list[str]:
    from runbook.cli.assembly import helper_folders
    from sandbox.image import find_image
    from sandbox.image_leftovers import remove_image, stale_images

    current = find_image(engine, helper_folders(), base_image)
    outdated = stale_images(engine, [current] if current else [])
    return [", ".join(image.tags) or image.id for image in outdated if remove_image(engine, image)]
