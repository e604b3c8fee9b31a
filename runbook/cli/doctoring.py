"""`runbook doctor`: is this machine fit, and if not, what to do."""

from dataclasses import asdict

import typer
from rich.console import Console

from runbook.cli.assembly import helper_folders
from runbook.cli.failures import FAILURE
from runbook.cli.options import AsJson, BaseImage
from runbook.cli.tables import print_json
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.doctor import Check, docker_checks
from sandbox.protocol import Capability, SandboxError


def doctor(base_image: BaseImage = None, as_json: AsJson = False) -> None:
    """Check engine, image, disk, bubblewrap and leftovers; each failure comes with its mend."""
    docker = docker_checks(helper_folders(), base_image)
    bubblewrap = _bubblewrap()
    checks = [*docker, bubblewrap]
    usable = all(check.ok for check in docker) or bubblewrap.ok
    if as_json:
        print_json({"usable": usable, "checks": [asdict(check) for check in checks]})
    else:
        _print(Console(), checks, usable=usable)
    if not usable:
        raise typer.Exit(FAILURE)


def _bubblewrap() -> Check:
    try:
        sandbox = BubblewrapSandbox()
    except SandboxError as error:
        return Check("bubblewrap", ok=False, detail=str(error), mend=error.mend)
    lacking = sorted(frozenset(Capability) - sandbox.capabilities)
    detail = f"works, without {', '.join(lacking)}" if lacking else "works, with all limits"
    return Check("bubblewrap", ok=True, detail=detail)


def _print(console: Console, checks: list[Check], *, usable: bool) -> None:
    for check in checks:
        mark = "ok  " if check.ok else "FAIL"
        console.print(f"{mark} {check.name}: {check.detail}", markup=False, highlight=False, soft_wrap=True)
        if not check.ok and check.mend:
            console.print(f"     mend: {check.mend}", markup=False, highlight=False, soft_wrap=True)
    verdict = "a sandbox works here" if usable else "no sandbox works here"
    console.print(f"{verdict}; scout can also run with --sandbox process", highlight=False)
