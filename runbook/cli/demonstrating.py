"""What `runbook demo` does: the main job on recordings that ship with the package."""

from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console

from evals.runs.config import RunConfig
from evals.runs.folder import RUN_FILE, RunFolder
from runbook.cli.failures import Mistake
from runbook.cli.places import Place
from runbook.cli.preparing import prepare
from runbook.cli.running import resume, start
from runbook.endpoint.config import EndpointConfig

SEED = 0


def demonstrate(
    out: Path,
    *,
    agent: str,
    agent_command: str | None,
    sandbox: str,
    base_image: str | None,
    reader: EndpointConfig | None,
    judge: EndpointConfig | None,
    console: Console,
) -> None:
    """Run all demo questions, or go on where an earlier demo in `out` stopped, and show the table."""
    with as_file(files("evals.demo") / "data") as data:
        config = RunConfig(
            data=data,
            store=out / "store",
            agent=agent,
            agent_command=agent_command,
            sandbox=sandbox,
            base_image=base_image,
            reader=reader,
            judge=judge,
            attempts=2,
            timeout=300.0,
            seed=SEED,
        )
        run = out / "run"
        if (run / RUN_FILE).exists():
            _same_or_refuse(run, config)
            resume(run, "infrastructure", force=False, console=console)
        else:
            start(prepare(config), Place.named(run), console)
    _point_onwards(console, out, with_reader=reader is not None)


def _same_or_refuse(run: Path, config: RunConfig) -> None:
    if RunFolder.open(run).record().config != config:
        raise Mistake(f"{run} holds a demo with other settings: name another folder with --out")


def _point_onwards(console: Console, out: Path, *, with_reader: bool) -> None:
    lines = [
        "",
        "To look at:",
        f"  {out}/run/questions/*/attempts/1/workspace   what the agent saw and wrote",
        f"  {out}/run/questions/*/query.1.json           evidence, context, latency",
        f"  {out}/store/views/*/MANIFEST.md              the haystack",
        "",
        "To try next:",
        f'  runbook ask "Which ticket was a duplicate that stayed P1?" --store {out}/store',
        "  runbook demo --out other-demo --agent command --agent-command 'YOUR CLI'   another agent",
    ]
    if not with_reader:
        lines.append(
            "  runbook demo --out read --reader URL --reader-model M --judge URL --judge-model M   accuracy"
        )
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
