"""`runbook report`: a run, or two side by side, as one HTML file that opens offline."""

from pathlib import Path
from typing import Annotated

import typer

from runbook.cli.failures import Mistake
from runbook.cli.tables import counted, sized
from runbook.cli.terminal import inert, terminal


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN2]", help="One run, or two to compare.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The HTML file to write.")] = None,
    full: Annotated[
        Path | None,
        typer.Option(
            "--full", metavar="FOLDER", help="Also write a folder with whole texts and screenshots."
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            help="Leave out paths, hosts, addresses, user and variable names, keys (not in pictures)."
        ),
    ] = False,
    screenshots: Annotated[bool, typer.Option(help="Draw the screenshots of the evidence.")] = True,
) -> None:
    """Write a run, or two, as one HTML file that opens offline.

    It holds the figures, the frontier, and every question with what was done, seen and said.
    """
    if len(runs) > 2:
        raise Mistake("a report is of one run or of two: `runbook compare` takes more")
    if out is None and full is None:
        raise Mistake("say where to write it: -o report.html, or --full FOLDER for everything")
    if out is not None and out.is_dir():
        raise Mistake(f"{out} is a folder: name a file with -o, or use --full {out} for a folder")
    from evals.report.write import write_folder, write_report

    said: list[str] = []
    written = []
    if out is not None:
        written.append(write_report(runs, out, redact=redact, pictures=screenshots))
    if full is not None:
        written.append(write_folder(runs, full, redact=redact, pictures=screenshots))
    console = terminal(stderr=True)
    for one in written:
        said += [note for note in one.notes if note not in said]
        console.print(f"{one.path}: {counted(one.questions, 'question')}, {sized(one.bytes)}")
    for note in said:
        console.print(inert(note))
    if redact and screenshots:
        console.print("Pictures are not looked into: --no-screenshots leaves them out.")
