"""`runbook tune`: settings tried on some questions, confirmed on others, and left as ready files."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from runbook.cli.failures import Mistake
from runbook.cli.options import AsJson
from runbook.cli.terminal import WorkConsole, inert

if TYPE_CHECKING:
    from evals.runs.config import RunConfig
    from evals.tuning.plan import Plan
    from evals.tuning.proposals import Proposal, Proposals
    from evals.tuning.report import StudyResult
    from evals.tuning.search import Ask

_LOOKED_AT = 500
"""Larger spaces are not looked through for settings that cannot be run."""


def tune(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="What to try, and what it may cost.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the study, new or begun (default: beside STUDY.toml)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for good settings, on questions kept apart.

    Hopeless settings are stopped early, the chosen ones confirmed on other questions; a study can be
    stopped and resumed.
    """
    _refuse_missing_extra()
    from evals.tuning.idle_dimensions import refuse_idle
    from evals.tuning.plan import plan_of
    from evals.tuning.record import recorded
    from evals.tuning.study_file import StudyError, read_study
    from runbook.cli.home import store_folder
    from runbook.cli.tables import print_json
    from runbook.cli.tuning_tables import print_plan, print_result

    console = WorkConsole(stderr=as_json)
    folder = (out or file.with_suffix("")).resolve()  # before a package can change the current folder
    try:
        plan = plan_of(read_study(file), file, store_folder(None))
        refuse_idle(plan)
        _refuse_unfit(plan)
        with recorded(plan, folder):
            print_plan(console, plan, folder)
            result = _perform(plan, folder, console)
    except StudyError as error:
        raise Mistake(str(error)) from None
    if as_json:
        print_json(result)
    else:
        print_result(console, result)


def _refuse_missing_extra() -> None:
    try:
        import optuna  # noqa: F401
        import tomli_w  # noqa: F401
    except ImportError:
        raise Mistake("runbook tune needs the extra `tune`: pip install 'agent-runbook[tune]'") from None


def _perform(plan: "Plan", folder: Path, console: Console) -> "StudyResult":
    from evals.tuning.proposals import Proposals
    from evals.tuning.report import Searched, result_of
    from evals.tuning.search import Search, directions

    def say(line: str) -> None:
        console.print(inert(line))

    proposals = Proposals(folder, plan.space, directions(plan), plan.study.study.seed)
    openings = count()

    def open_run(config: "RunConfig", path: Path) -> "AbstractContextManager[Ask]":
        # Every run reads the same recordings: what there is to say of them is said once.
        return _opened(config, path, Console(quiet=True) if next(openings) else console, say)

    search = Search(plan, folder, proposals, open_run, say)
    try:
        ended = search.run()
        say(f"The search ended: {ended}.")
        known = proposals.all()
        searched = Searched(
            ended, known, {one.number: search.answers(search.search_path(one.number)) for one in known}
        )
        chosen = searched.chosen(plan)
        confirmed = _confirmed(search.confirm, proposals, chosen, searched.tried, say)
    except KeyboardInterrupt:
        say(f"stopped; the same command goes on with the study in {folder}")
        raise
    result = result_of(plan, searched, confirmed, usd=search.usd(), hours=proposals.seconds() / 3600)
    _write(plan, folder, proposals, result, say)
    return result


def _confirmed(
    confirm: "Callable[[Proposal, int], Path]",
    proposals: "Proposals",
    chosen: Mapping[str, int],
    tried: int,
    say: Callable[[str], None],
) -> dict[int, Path]:
    """The runs over the questions kept for confirmation, as far as the caps go."""
    from evals.tuning.search import CapError

    found: dict[int, Path] = {}
    known = proposals.all()
    for number in dict.fromkeys(chosen.values()):
        try:
            found[number] = confirm(known[number], tried)
        except CapError as cap:
            say(f"setting {number} is not confirmed: {cap}")
    return found


@contextmanager
def _opened(config: "RunConfig", path: Path, console: Console, say: Callable[[str], None]) -> Iterator["Ask"]:
    """A run of the study, new or begun; yields what asks some of its questions."""
    from evals.runs.execute import execute
    from evals.runs.folder import RUN_FILE, RunFolder
    from evals.tuning.search import UnfitError
    from runbook.cli.preparing import prepare
    from runbook.cli.progress import trouble
    from runbook.cli.running import creating, open_stages, reopening
    from runbook.outcomes import INFRASTRUCTURE_FAILURES

    if reason := _unfit(config):
        raise UnfitError(reason)
    begun = (path / RUN_FILE).is_file()
    if not begun:
        rmtree(path, ignore_errors=True)  # what a start left that ended before its run was on record
    record = RunFolder.open(path).record() if begun else None
    prepared = prepare(record.config if record else config)
    open_run = reopening(prepared, RunFolder(path), record) if record else creating(prepared, path)
    cancel = threading.Event()
    with ExitStack() as stack:
        stages = open_stages(prepared, path, open_run, INFRASTRUCTURE_FAILURES, console, cancel, stack)
        questions = {question.id: question for question in prepared.questions}

        def ask(question_ids: Sequence[str]) -> None:
            execute(
                stages,
                [questions[one] for one in question_ids],
                concurrency=prepared.config.concurrency,
                on_progress=lambda progress: tell(trouble(progress)),
            )

        def tell(line: str) -> None:
            if line:
                say(f"{path.name}: {line}")

        yield ask


def _refuse_unfit(plan: "Plan") -> None:
    """Raise Mistake where no setting with some value could be run, before the first one is."""
    from evals.runs.config_file import ConfigError

    size = plan.space.size
    if size is None or size > _LOOKED_AT:
        return
    reasons: dict[tuple[str, object], str] = {}
    fitting: set[tuple[str, object]] = set()
    for setting in plan.space.settings():
        try:
            reason = _unfit(plan.search_config(setting))
        except ConfigError as error:
            reason = str(error)
        if not reason:
            fitting.update(setting.items())
        else:
            reasons |= dict.fromkeys(setting.items(), reason)
    for (name, value), reason in reasons.items():
        if (name, value) not in fitting:
            raise Mistake(f"{name} = {value!r}: no setting with it can be run: {reason}")


def _unfit(config: "RunConfig") -> str:
    """Why these settings cannot be run together; empty where nothing is known against them."""
    from runbook.agents import UnknownAgentError
    from runbook.cli.assembly import arm_settings, chosen_agent
    from runbook.cli.memory_checks import refuse_unpriced_budgets
    from runbook.memories.errors import MemorySettingsError
    from runbook.memories.registry import AGENTS, memory_factory

    try:
        refuse_unpriced_budgets(config)
        if config.memory in AGENTS:
            chosen_agent(arm_settings(config))
        else:
            memory_factory(config.memory)
    except (Mistake, UnknownAgentError, MemorySettingsError) as error:
        return str(error)
    return ""


def _write(
    plan: "Plan", folder: Path, proposals: "Proposals", result: "StudyResult", say: Callable[[str], None]
) -> None:
    """`result.json`, the picture, and a file of settings for each confirmed operating point."""
    import orjson

    from evals.frontier.plot import write_picture
    from evals.tuning.ready import write_config
    from runbook.cli.tuning_tables import confirmed_line
    from runbook.files import write_atomically

    written = [folder / "result.json"]
    write_atomically(written[0], orjson.dumps(result, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if result.frontier is not None:
        written += write_picture(result.frontier, folder / "frontier.png")
    known = proposals.all()
    for point in result.confirmed:
        setting = known[point.number].setting
        config = plan.ready_config(setting, result.chance.settings)
        for name in point.names:
            said = [f"{name}: {confirmed_line(point, result)}", *result.remarks]
            written.append(write_config(config, folder / f"{name}.toml", said, plan.space.changes(setting)))
    say(f"written: {', '.join(map(str, written))}")
