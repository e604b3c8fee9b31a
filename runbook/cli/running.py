"""Running a prepared evaluation, and resuming it."""

import platform
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from git import GitError, Repo
from rich.console import Console

from evals.runs.config import RunConfig, RunRecord
from evals.runs.execute import execute
from evals.runs.folder import RunFailure, RunFolder, refuse_taken
from evals.runs.gates import nothing_answered
from evals.runs.idle_switches import told_idle
from evals.runs.records import now
from evals.runs.results import load_figures
from evals.runs.room import Room
from evals.runs.stages import Stages
from evals.runs.summary import is_pending, summarise
from manifests.store import Store
from runbook.abandoning import abandonable
from runbook.agents import AdapterAgent
from runbook.cli.assembly import arm_settings, chosen_agent, may_write_haystacks
from runbook.cli.build_ahead import BUILDERS, BuildAhead, HaystackJob
from runbook.cli.endpoints import refuse_refusing
from runbook.cli.evaluators import Evaluators, open_evaluators
from runbook.cli.failures import Mistake
from runbook.cli.haystacks import Haystacks
from runbook.cli.memories import open_memory
from runbook.cli.places import Place
from runbook.cli.preparing import (
    Prepared,
    haystack_digests,
    import_trajectories,
    prepare,
    prepare_search,
    refuse_impossible_gold,
)
from runbook.cli.progress import run_progress
from runbook.cli.tables import print_summary
from runbook.cli.terminal import inert
from runbook.cli.unchanged import (
    refuse_changed_agent,
    refuse_changed_data,
    refuse_changed_prompts,
)
from runbook.outcomes import INFRASTRUCTURE_FAILURES, METHOD_FAILURES, Outcome

RETRY_CLASSES = {"infrastructure": INFRASTRUCTURE_FAILURES, "method": METHOD_FAILURES, "none": frozenset()}
FAILURES = sorted(outcome.value for outcome in Outcome if outcome is not Outcome.OK)

OpenRun = Callable[[Mapping[str, str], Evaluators, tuple[str, ...]], RunFolder]
"""From the slugs of trajectories, and who reads and judges, to the folder of the run."""


def start(prepared: Prepared, out: Place, console: Console) -> None:
    """Create the run folder and run everything."""
    with out.shown_in_errors():
        refuse_taken(out.path)
        refuse_refusing_models(prepared.config)
        _perform(prepared, out, creating(prepared, out.path), INFRASTRUCTURE_FAILURES, console)


def creating(prepared: Prepared, out: Path) -> OpenRun:
    """What makes the folder of a new run."""
    record = RunRecord(
        created_at=now(),
        config=prepared.config,
        smoke=prepared.smoke,
        questions=tuple(question.id for question in prepared.questions),
        question_types={question.id: question.question_type for question in prepared.questions},
        tier_questions=len(prepared.data.questions),
        data_digests=dict(prepared.data.digests),
        prompt_digests={},
        versions={
            "agent-runbook": version("agent-runbook"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            **_agent_version(prepared.config),
        },
        git_revision=_git_revision(),
    )

    def create(slugs: Mapping[str, str], evaluators: Evaluators, passed_over: tuple[str, ...]) -> RunFolder:
        known = {
            "passed_over": passed_over,
            "haystack_digests": haystack_digests(prepared, slugs),
            "prompt_digests": evaluators.prompt_digests,
        }
        return RunFolder.create(out, record.model_copy(update=known))

    return create


def _agent_version(config: RunConfig) -> dict[str, str]:
    """The agent's program and the digest of its adapter; nothing for agents without one."""
    agent = chosen_agent(arm_settings(config))
    return {agent.name: f"{agent.version} {agent.digest}"} if isinstance(agent, AdapterAgent) else {}


def resume(path: Path, retry: str, *, force: bool, console: Console, no_gates: bool = False) -> None:
    """Go on with a run; with `no_gates` also where infrastructure fails for the first questions."""
    run = Place.named(RunFolder.open(path).path)
    with run.shown_in_errors():
        _resume(run, retry, force=force, console=console, no_gates=no_gates)


def _resume(run: Place, retry: str, *, force: bool, console: Console, no_gates: bool) -> None:
    folder = RunFolder.open(run.path)
    record = folder.record()
    prepared = gated(prepare(record.config), no_gates)
    refuse_changed_data(prepared, record)
    outcomes = _outcomes(retry)
    if outcomes & METHOD_FAILURES and not force:
        scored = [one for one in load_figures(folder, record) if one.score is not None]
        if any(one.query and one.query.outcome in outcomes for one in scored):
            raise Mistake("a method failure that has a score is done again only with --force")
    with_reader = record.config.reader is not None
    pending = {
        result.question_id
        for result in load_figures(folder, record)
        if is_pending(result, with_reader=with_reader, retry=outcomes)
    }
    if not pending:
        console.print("nothing is left to do")
        print_summary(console, summarise(folder), run.shown)
        return
    prepared = replace(prepared, questions=[one for one in prepared.questions if one.id in pending])
    open_run = reopening(prepared, folder, record)
    _perform(prepared, run, open_run, outcomes, console, votes_since=record.votes_since)


def gated(prepared: Prepared, no_gates: bool) -> Prepared:
    """What is prepared, without its gates where they are to be left open."""
    if not no_gates:
        return prepared
    return replace(prepared, config=prepared.config.model_copy(update={"gates": ()}))


def reopening(prepared: Prepared, folder: RunFolder, record: RunRecord) -> OpenRun:
    """What goes on with a run; raises Mistake where its trajectories, prompts or agent changed."""

    def reopen(slugs: Mapping[str, str], evaluators: Evaluators, _passed_over: tuple[str, ...]) -> RunFolder:
        refuse_changed_prompts(record, evaluators.prompt_digests)
        refuse_changed_agent(record, _agent_version(prepared.config))
        for question_id, digest in haystack_digests(prepared, slugs).items():
            if record.haystack_digests.get(question_id) != digest:
                raise Mistake(
                    f"the trajectories of question {question_id} changed since the run began: "
                    f"start a new run, or restore {record.config.data}/trajectories.jsonl"
                )
        return folder

    return reopen


def refuse_refusing_models(config: RunConfig) -> None:
    """Raise Mistake where the reader or the judge refuses a tiny request."""
    for role, endpoint in (("reader", config.reader), ("judge", config.judge)):
        if endpoint is not None:
            refuse_refusing(role, endpoint, seed=None if config.profile == "official" else 1)


def _outcomes(names: str) -> frozenset[Outcome]:
    chosen: set[Outcome] = set()
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name in RETRY_CLASSES:
            chosen |= RETRY_CLASSES[name]
        elif name in FAILURES:
            chosen.add(Outcome(name))
        else:
            raise Mistake(
                f"--retry: {name!r} is neither a class ({', '.join(RETRY_CLASSES)}) nor an outcome "
                f"({', '.join(FAILURES)})"
            )
    return frozenset(chosen)


def _perform(
    prepared: Prepared,
    run: Place,
    open_run: OpenRun,
    retry: frozenset[Outcome],
    console: Console,
    *,
    votes_since: int = 0,
) -> None:
    """Open everything, then run the questions."""
    cancel = threading.Event()
    with ExitStack() as stack:
        stages = open_stages(
            prepared, run.path, open_run, retry, console, cancel, stack, votes_since=votes_since
        )
        run_questions(stages, prepared, console, f"runbook eval resume {run.shown}")
    show_figures(stages.folder, run.shown, console)


def open_stages(
    prepared: Prepared,
    run: Path,
    open_run: OpenRun,
    retry: frozenset[Outcome],
    console: Console,
    cancel: threading.Event,
    stack: ExitStack,
    *,
    builders: int = BUILDERS,
    votes_since: int = 0,
) -> Stages:
    """Open everything that can fail to open, the run folder last; all of it is closed with `stack`.

    `builders` processes build the haystacks, those of coming questions too, where there are several.
    """
    config = prepared.config
    if idle := told_idle(config):
        console.print(inert(idle), markup=False, highlight=False, soft_wrap=True)
    passed_over: list[str] = []
    memory = stack.enter_context(open_memory(config, prepared.data, cancel, console, passed_over.append))
    store = Store.open(config.store)
    slugs = import_trajectories(prepared, store, console)
    refuse_impossible_gold(prepared, {one: store.get(slug).states for one, slug in slugs.items()})
    prepare_search(store, slugs, console)
    kind = {
        "summaries": config.summaries,
        "manifests": config.manifests,
        "private": may_write_haystacks(arm_settings(config)),
    }
    named = {
        question.id: tuple(slugs[one] for one in prepared.data.haystacks[question.id])
        for question in prepared.questions
    }
    cap_bytes = int(config.views_gb * 1e9)
    jobs = [HaystackJob(named[question.id], **kind) for question in prepared.questions]
    ahead = BuildAhead(store.root, cap_bytes, jobs, distance=config.concurrency, builders=builders)
    stack.callback(ahead.close)
    haystacks = Haystacks(store, console.print, cap_bytes=cap_bytes, ahead=ahead)
    evaluators = stack.enter_context(open_evaluators(config, run, console, cancel, votes_since=votes_since))
    folder = open_run(slugs, evaluators, tuple(passed_over))
    stack.enter_context(folder.locked())
    return Stages(
        folder=folder,
        run_record=folder.record(),
        data=prepared.data,
        memory=memory,
        open_view=lambda question_id: abandonable(lambda: haystacks.open(named[question_id], **kind), cancel),
        reader=evaluators.reader,
        judge=evaluators.judge,
        retry=retry,
        cancel=cancel,
        room=Room(cancel, console.print),
    )


def run_questions(stages: Stages, prepared: Prepared, console: Console, onwards: str) -> None:
    """Run the questions; Ctrl-C says how to go on."""
    try:
        with run_progress(console, len(prepared.questions), at_work=stages.at_work.told) as on_progress:
            execute(
                stages,
                prepared.questions,
                concurrency=prepared.config.concurrency,
                gates=prepared.config.gates,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        console.print(f"stopped; go on with: {onwards}", soft_wrap=True)
        raise


def show_figures(folder: RunFolder, shown: Path, console: Console) -> None:
    """Show the figures. Raises RunFailure where all that was asked failed for want of machine or model."""
    print_summary(console, summarise(folder), shown)
    if refusal := nothing_answered(load_figures(folder, folder.record())):
        raise RunFailure(f"{shown}: {refusal}")


def _git_revision() -> str | None:
    """The revision of the checkout that runs, where it is one; marked where it has changes."""
    try:
        with Repo(Path(__file__).parent, search_parent_directories=True) as repo:
            return repo.head.commit.hexsha + ("+changes" if repo.is_dirty() else "")
    except (GitError, ValueError):  # no checkout, no git, or one without a commit
        return None
