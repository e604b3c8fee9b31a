"""In the docker image the command draws pictures as it does elsewhere."""

from contextlib import ExitStack
from typing import Any

import pytest

from runbook.cli.assembly import BAKED_HELPERS, open_sandbox
from sandbox.protocol import Limits, Mount, SandboxSpec
from tests.conftest import lacking
from tests.helpers.test_image import picture
from tests.waiting import FOREVER

PILLOW = "import importlib.util, sys; sys.exit(importlib.util.find_spec('PIL') is None)"


@pytest.mark.needs("docker")
def test_a_sheet_and_a_part_of_a_screenshot_are_drawn_inside(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    slug = view.add("seen", [recorded("a", image=(picture("png", (640, 400)), "png")) for _ in range(3)])
    view.finish()
    haystack = workspace.root / "haystack"
    aside = haystack.rename(workspace.root.parent / "view")
    with ExitStack() as stack:
        sandbox = open_sandbox("docker", None, allow_no_isolation=False, say=print, stack=stack)
        spec = SandboxSpec(
            workspace=workspace.root, mounts=[Mount(aside, "haystack")], limits=Limits(wall_seconds=FOREVER)
        )
        running = sandbox.start(spec)
        inside = sandbox.locate(workspace.root, Mount(workspace.root, "."))
        python = [sandbox.python, "-I", "-S", "-B", f"{BAKED_HELPERS}/memory"]
        environment = {"MEMORY_WORKSPACE": inside, "PATH": "/usr/bin:/bin"}
        sheet = running.exec([*python, "contact", slug], env=environment).result()
        part = running.exec([*python, "image", slug, "1", "--crop", "0,0,9,9"], env=environment).result()
        pillow = running.exec([sandbox.python, "-I", "-c", PILLOW]).result().exit_code == 0
        running.collect()
    if not pillow:
        lacking("docker", "the image was built without a network, so it has no Pillow")
    drawn = {path.suffix for path in (workspace.root / "notes" / "images").glob("*")}
    assert (sheet.exit_code, part.exit_code) == (0, 0)
    assert drawn == {".jpg", ".png"}
