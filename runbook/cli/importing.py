"""`runbook import`: recordings into a store."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from manifests.importing import ImportReport, import_lme_v2
from manifests.store import Store
from runbook.cli.failures import Commands
from runbook.cli.home import store_folder
from runbook.cli.options import AsJson, StoreOption
from runbook.cli.progress import counting
from runbook.cli.tables import print_json

importing = typer.Typer(cls=Commands, no_args_is_help=True, help="Import recordings into a store.")


@importing.command("lme-v2")
def lme_v2(
    data_root: Annotated[Path, typer.Argument(help="Folder with trajectories.jsonl.")],
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Import a data root in LongMemEval-V2 form; what is there already is not read again."""
    console = Console(stderr=as_json)
    opened = Store.open(store_folder(store))
    with counting(console, "trajectories") as progress:
        report = import_lme_v2(data_root.resolve(), opened, progress=progress)
    if as_json:
        print_json({"store": str(opened.root), **_figures(report), "warnings": report.warnings})
        return
    print_warnings(console, report)
    figures = ", ".join(f"{name} {value}" for name, value in _figures(report).items())
    console.print(f"{figures}; store {opened.root}", highlight=False, soft_wrap=True)


def print_warnings(console: Console, report: ImportReport) -> None:
    """What an import mended or left out, a line each."""
    for warning in report.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=True)


def _figures(report: ImportReport) -> dict[str, int]:
    return {"trajectories": report.trajectories, "states": report.states, "reused": report.reused}
