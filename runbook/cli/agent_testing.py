"""`runbook agents test`: the conformance kit for agents, against a scripted model."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from runbook.cli.failures import FAILURE, Mistake
from runbook.cli.home import home
from runbook.cli.options import AsJson, BaseImage, SandboxName
from runbook.cli.plain_table import plain_table
from runbook.cli.tables import counted, print_json
from runbook.cli.terminal import inert, terminal

if TYPE_CHECKING:
    from manifests.views import View
    from runbook.agents.conformance.cases import Case
    from runbook.agents.conformance.kit import CaseResult

_STYLES = {"pass": "green", "fail": "bold red", "n/a": "dim"}


def test_agents(
    names: Annotated[
        list[str] | None, typer.Argument(help="Installed agents, by name or TOML file.", show_default=False)
    ] = None,
    cases: Annotated[str, typer.Option(help="Names of cases, separated by commas (default: all).")] = "",
    list_cases: Annotated[bool, typer.Option("--list", help="Only say which cases there are.")] = False,
    sandbox: SandboxName = "auto",
    base_image: BaseImage = None,
    server: Annotated[
        str | None, typer.Option(help="URL of a running scripted model (default: one is started).")
    ] = None,
    idle: Annotated[
        float,
        typer.Option(min=5, max=1e6, help="Idle limit in seconds where a case is about it."),
    ] = 30.0,
    deadline: Annotated[
        float,
        typer.Option(min=10, max=1e6, help="Deadline in seconds where a case is about it."),
    ] = 40.0,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Cases at one time.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps all attempts (default: a new one, removed where all pass)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try agents in real runs against a scripted model.

    Each case makes one attempt in a sandbox, through controller and gateway, and checks how it ended, what
    the records tell and that nothing is left. All cases take an agent 15 minutes and more, some of them
    minutes each; --cases healthy,401,cut-stream,hang says the most in the least time. Exits with 1 where a
    case fails.
    """
    chosen = _cases(cases)
    console = terminal(stderr=as_json)
    if list_cases:
        for case in chosen:
            console.print(f"{case.name}: {case.about}")
        return
    if not names:
        raise Mistake("name an agent to test; `runbook agents list` shows which are installed")
    from runbook.agents.conformance.kit import Kit
    from runbook.cli.agent_bench import open_benches

    results: list[CaseResult] = []
    total = len(names) * len(chosen)
    console.print(
        f"{counted(total, 'case')}, {parallel} at a time; a case takes from seconds to minutes, all "
        f"{len(_cases(''))} take an agent 15 minutes and more"
    )
    with attempts_folder(out, results, console) as folder, ExitStack() as stack:
        kit = Kit(
            server=stack.enter_context(_server(server)),
            haystack=stack.enter_context(_haystack()),
            folder=folder,
            idle_seconds=idle,
            deadline_seconds=deadline,
        )
        benches = stack.enter_context(
            open_benches(names, sandbox, base_image, lambda line: console.print(inert(line)))
        )
        for result in kit.run(benches, chosen, parallel=parallel):
            results.append(result)
            counter = f"{len(results):{len(str(total))}}/{total}"
            console.print(Text(f"{counter} {_line(result)}", style=_STYLES[result.verdict]))
        if as_json:
            print_json([asdict(result) for result in results])
        else:
            console.print(_table([bench.agent for bench in benches], chosen, results))
            for line in _remarks(chosen, results):
                console.print(inert(line))
    if _failed(results):
        raise typer.Exit(FAILURE)


@contextmanager
def attempts_folder(out: Path | None, results: "list[CaseResult]", console: Console) -> Iterator[Path]:
    """The folder of the attempts: the one named, else a new one, which stays only where there is a reason."""
    folder = (out or _new_folder()).resolve()
    try:
        yield folder
    except KeyboardInterrupt:
        console.print(f"{counted(len(results), 'case')} done; attempts are kept in {folder}")
        raise
    except Exception:
        if out is None and not results:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None and not _failed(results):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        console.print(f"attempts are kept in {folder}")


def _failed(results: "list[CaseResult]") -> "list[CaseResult]":
    return [result for result in results if result.verdict == "fail"]


def _new_folder() -> Path:
    folder = home() / "agent-tests"
    folder.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder, prefix=f"{datetime.now():%Y%m%d-%H%M%S}-"))


def _cases(names: str) -> "list[Case]":
    from runbook.agents.conformance.cases import BY_NAME, CASES

    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in chosen if name not in BY_NAME]:
        raise Mistake(f"--cases: there is no case {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    return [BY_NAME[name] for name in chosen] or list(CASES)


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    from runbook.agents.conformance.model_server import NoModelServerError, scripted_model

    try:
        with nullcontext(url.rstrip("/")) if url else scripted_model() as address:
            yield address
    except NoModelServerError as error:
        raise Mistake(str(error)) from None


@contextmanager
def _haystack() -> "Iterator[View]":
    """The kit's own haystack, gone when the context ends."""
    from manifests.store import Store
    from runbook.agents.conformance.haystack import trajectories
    from runbook.cli.haystacks import Haystacks

    with tempfile.TemporaryDirectory(prefix="runbook-haystack-") as folder:
        store = Store.open(Path(folder) / "store")
        entries = [store.add(one, Path(folder)) for one in trajectories()]
        with Haystacks(store, lambda _: None).open(entry.slug for entry in entries) as view:
            yield view


def _line(result: "CaseResult") -> str:
    said = f" {result.outcome}" if result.outcome else ""
    why = f": {result.reason}" if result.reason and result.verdict != "pass" else ""
    unknown = f"; not known: {result.not_known}" if result.not_known else ""
    took = f" ({result.seconds:.0f} s, {counted(result.calls, 'model call')})" if result.outcome else ""
    return inert(f"{result.agent} {result.case} {result.verdict}{said}{took}{why}{unknown}")


def _remarks(cases: "list[Case]", results: "list[CaseResult]") -> Iterator[str]:
    """Whose each failure most likely is, what could not be checked, and how many cases passed."""
    failing = {result.case for result in _failed(results)}
    for case in cases:
        if case.name in failing:
            hint = f" ({case.hint})" if case.hint else ""
            yield f"{case.name}: a failure is most likely {case.whose}{hint}"
    unknown: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.not_known:
            unknown.setdefault((result.agent, result.not_known), []).append(result.case)
    for (agent, why), names in unknown.items():
        yield f"* {agent}, {', '.join(names)}: not known are the {why}"
    yield f"{len(results) - len(_failed(results))} of {len(results)} cases pass or do not apply"


def _table(agents: list[str], cases: "list[Case]", results: "list[CaseResult]") -> Text:
    """Cases down, agents across; a cell tells how the attempt ended, and whether that was wrong."""
    cells = {(result.agent, result.case): result for result in results}
    rows = [(case.name, *(_cell(cells[agent, case.name]) for agent in agents)) for case in cases]
    return plain_table("How each case ended", ("case", *agents), rows, justify="left")


def _cell(result: "CaseResult") -> str:
    passed = f"{result.outcome}{'*' if result.not_known else ''}"
    return {"pass": passed, "fail": f"FAIL {result.outcome}"}.get(result.verdict, "n/a")
