"""`runbook doctor`: is this machine fit, and if not, what to do."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from runbook.cli.failures import FAILURE
from runbook.cli.options import AsJson, BaseImage
from runbook.cli.tables import print_json

if TYPE_CHECKING:
    from sandbox.doctor import Check


def doctor(base_image: BaseImage = None, as_json: AsJson = False) -> None:
    """Check engine, image, disk, bubblewrap and leftovers; each failure comes with its mend."""
    from runbook.cli.examining import examine

    checks, usable = examine(base_image)
    if as_json:
        print_json({"usable": usable, "checks": [asdict(check) for check in checks]})
    else:
        _print(Console(), checks, usable=usable)
    if not usable:
        raise typer.Exit(FAILURE)


def _print(console: Console, checks: "list[Check]", *, usable: bool) -> None:
    for check in checks:
        mark = "ok  " if check.ok else "FAIL"
        console.print(f"{mark} {check.name}: {check.detail}", markup=False, highlight=False, soft_wrap=True)
        if not check.ok and check.mend:
            console.print(f"     mend: {check.mend}", markup=False, highlight=False, soft_wrap=True)
    verdict = "a sandbox works here" if usable else "no sandbox works here"
    console.print(f"{verdict}; scout can also run with --sandbox process", highlight=False)
