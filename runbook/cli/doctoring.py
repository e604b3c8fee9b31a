"""`runbook doctor`: is this machine fit, and if not, what to do."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from runbook.cli.failures import FAILURE
from runbook.cli.options import AsJson, BaseImage, JudgeModel, JudgeUrl, ReaderModel, ReaderUrl
from runbook.cli.tables import print_json
from runbook.cli.terminal import terminal

if TYPE_CHECKING:
    from sandbox.doctor import Check


def doctor(
    base_image: BaseImage = None,
    reader: ReaderUrl = None,
    reader_model: ReaderModel = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    as_json: AsJson = False,
) -> None:
    """Check what runs need of this machine.

    Engine, image, disk, bubblewrap, leftovers and endpoints; each failure comes with its mend.
    """
    from runbook.cli.endpoints import endpoint
    from runbook.cli.examining import examine

    endpoints = {
        "reader": endpoint("reader", reader, reader_model),
        "judge": endpoint("judge", judge, judge_model),
    }
    checks, usable = examine(base_image, endpoints)
    if as_json:
        print_json({"usable": usable, "checks": [asdict(check) for check in checks]})
    else:
        _print(terminal(), checks, usable=usable)
    if not usable:
        raise typer.Exit(FAILURE)


def _print(console: Console, checks: "list[Check]", *, usable: bool) -> None:
    for check in checks:
        mark = "ok" if check.ok else "no"
        console.print(f"{mark} {check.name}: {check.detail}", markup=False, highlight=False, soft_wrap=True)
        if not check.ok and check.mend:
            console.print(f"     mend: {check.mend}", markup=False, highlight=False, soft_wrap=True)
    verdict = "ready" if usable else "not ready: mend what is marked no"
    console.print(f"{verdict}; scout can also run with --sandbox process", highlight=False)
