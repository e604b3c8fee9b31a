"""Putting a run together from its settings, running it, and resuming it."""

import hashlib
import platform
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path

from git import GitError, Repo
from rich.console import Console

from evals.dataset import DataRoot, load_data_root
from evals.judge import Judge
from evals.question import EvalQuestion
from evals.reader import Reader
from evals.runs.choosing import Choice, ChoiceError, choose
from evals.runs.config import RunConfig, RunRecord
from evals.runs.execute import execute
from evals.runs.folder import RunFolder, refuse_taken
from evals.runs.records import now
from evals.runs.results import load_results
from evals.runs.stages import Stages
from evals.runs.summary import is_pending, summarise
from instructions import prompt_digests
from manifests.errors import UnknownTrajectoryError
from manifests.importing import import_lme_v2
from manifests.store import Store
from runbook.cli.assembly import ArmSettings, assemble_memory, chosen_agent
from runbook.cli.endpoints import refuse_unreachable
from runbook.cli.failures import Mistake
from runbook.cli.haystacks import Haystacks
from runbook.cli.importing import print_warnings
from runbook.cli.progress import counting, run_progress
from runbook.cli.tables import counted, print_summary
from runbook.cli.terminal import inert
from runbook.outcomes import INFRASTRUCTURE_FAILURES, METHOD_FAILURES, Outcome
from sandbox.selection import NAMES as SANDBOXES

RETRY_CLASSES = {"infrastructure": INFRASTRUCTURE_FAILURES, "method": METHOD_FAILURES, "none": frozenset()}
FAILURES = sorted(outcome.value for outcome in Outcome if outcome is not Outcome.OK)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that can be wrong before anything runs has been checked."""

    config: RunConfig
    data: DataRoot
    questions: list[EvalQuestion]
    """In the order in which they are started."""

    @property
    def smoke(self) -> bool:
        return len(self.questions) < len(self.data.questions)

    def describe(self, console: Console) -> None:
        """Say what would run."""
        haystacks = {self.data.haystacks[question.id] for question in self.questions}
        console.print(
            f"{len(self.questions)} of {counted(len(self.data.questions), 'question')}, "
            f"{counted(len(haystacks), 'distinct haystack')}, tier {self.config.tier}, "
            f"agent {self.config.agent}, sandbox {self.config.sandbox}, "
            f"at most {counted(self.config.attempts, 'attempt')} of {self.config.timeout:.0f} s each, "
            f"{self.config.concurrency} at a time. Nothing was run.",
            highlight=False,
            soft_wrap=True,
        )


def prepare(config: RunConfig) -> Prepared:
    """Read the data root and choose the questions; spends nothing and writes nothing."""
    chosen_agent(arm_settings(config))
    if config.judge is not None and config.reader is None:
        raise Mistake("--judge judges a reader's answers: give --reader and --reader-model, or leave it out")
    for role, endpoint in (("reader", config.reader), ("judge", config.judge)):
        if endpoint is not None:
            refuse_unreachable(role, endpoint)
    if config.sandbox not in SANDBOXES:
        raise Mistake(f"--sandbox: there is no {config.sandbox!r}; there are {', '.join(SANDBOXES)}")
    data = load_data_root(config.data, config.tier)
    choice = Choice(config.question_ids, config.limit, config.sample, config.seed)
    try:
        chosen = choose(data.questions, choice)
    except ChoiceError as error:
        raise Mistake(f"--questions: {error} in {config.data}/questions.jsonl") from None
    return Prepared(config, data, chosen)


def start(prepared: Prepared, out: Path, console: Console) -> None:
    """Create the run folder and run everything."""
    config = prepared.config
    record = RunRecord(
        created_at=now(),
        config=config,
        smoke=prepared.smoke,
        questions=tuple(question.id for question in prepared.questions),
        question_types={question.id: question.question_type for question in prepared.questions},
        tier_questions=len(prepared.data.questions),
        data_digests=dict(prepared.data.digests),
        prompt_digests=prompt_digests(),
        versions={
            "agent-runbook": version("agent-runbook"),
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        git_revision=_git_revision(),
    )
    refuse_taken(out)

    def create(slugs: Mapping[str, str]) -> RunFolder:
        digests = haystack_digests(prepared, slugs)
        return RunFolder.create(out, record.model_copy(update={"haystack_digests": digests}))

    _perform(prepared, create, INFRASTRUCTURE_FAILURES, console)


def resume(path: Path, retry: str, *, force: bool, console: Console) -> None:
    """Go on with a run."""
    folder = RunFolder.open(path)
    record = folder.record()
    prepared = prepare(record.config)
    if dict(prepared.data.digests) != record.data_digests:
        raise Mistake(
            f"the data root {record.config.data} changed since the run began: start a new run, or restore it"
        )
    outcomes = _outcomes(retry)
    if outcomes & METHOD_FAILURES and not force:
        scored = [one for one in load_results(folder, record) if one.score is not None]
        if any(one.query and one.query.outcome in outcomes for one in scored):
            raise Mistake("a method failure that has a score is done again only with --force")
    with_reader = record.config.reader is not None
    pending = {
        result.question_id
        for result in load_results(folder, record)
        if is_pending(result, with_reader=with_reader, retry=outcomes)
    }
    if not pending:
        console.print("nothing is left to do")
        print_summary(console, summarise(folder), folder.path)
        return
    prepared = replace(prepared, questions=[one for one in prepared.questions if one.id in pending])

    def reopen(slugs: Mapping[str, str]) -> RunFolder:
        for question_id, digest in haystack_digests(prepared, slugs).items():
            if record.haystack_digests.get(question_id) != digest:
                raise Mistake(
                    f"the trajectories of question {question_id} changed since the run began: "
                    f"start a new run, or restore {record.config.data}/trajectories.jsonl"
                )
        return folder

    _perform(prepared, reopen, outcomes, console)


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
    open_run: Callable[[Mapping[str, str]], RunFolder],
    retry: frozenset[Outcome],
    console: Console,
) -> None:
    """Open everything that can fail to open, the run folder last, then run the questions."""
    config = prepared.config
    cancel = threading.Event()
    with ExitStack() as stack:
        memory = stack.enter_context(assemble_memory(arm_settings(config), console.print))
        store = Store.open(config.store)
        slugs = _import(prepared, store, console)
        refuse_impossible_gold(prepared, {one: store.get(slug).states for one, slug in slugs.items()})
        haystacks = Haystacks(store, console.print)
        reader, judge = _reader(config, cancel, console, stack), _judge(config, cancel, console, stack)
        folder = open_run(slugs)
        stack.enter_context(folder.locked())
        stages = Stages(
            folder=folder,
            run_record=folder.record(),
            data=prepared.data,
            memory=memory,
            open_view=lambda question_id: haystacks.open(
                [slugs[one] for one in prepared.data.haystacks[question_id]],
                summaries=config.summaries,
                manifests=config.manifests,
            ),
            reader=reader,
            judge=judge,
            retry=retry,
            cancel=cancel,
        )
        try:
            with run_progress(console, len(prepared.questions)) as on_progress:
                execute(
                    stages,
                    prepared.questions,
                    concurrency=config.concurrency,
                    gates=config.gates,
                    on_progress=on_progress,
                )
        except KeyboardInterrupt:
            console.print(f"stopped; go on with: runbook eval resume {folder.path}", soft_wrap=True)
            raise
    print_summary(console, summarise(folder), folder.path)


def haystack_digests(prepared: Prepared, slugs: Mapping[str, str]) -> dict[str, str]:
    """A digest of each question's trajectories; a slug holds the digest of its content."""
    digests = {}
    for question in prepared.questions:
        named = sorted(slugs[one] for one in prepared.data.haystacks[question.id])
        digests[question.id] = hashlib.sha256("\n".join(named).encode()).hexdigest()
    return digests


def refuse_impossible_gold(prepared: Prepared, states: Mapping[str, int]) -> None:
    """Raise Mistake where gold names states that the haystack has not, before any question is asked."""
    file = prepared.config.data / "gold.json"
    for question in prepared.questions:
        gold = (prepared.data.gold or {}).get(question.id)
        haystack = frozenset(prepared.data.haystacks[question.id])
        for span in (span for piece in (gold.pieces if gold else ()) for span in piece):
            if span.trajectory_id not in haystack:
                raise Mistake(
                    f"{file}: question {question.id}: trajectory {span.trajectory_id!r} is not in "
                    "its haystack; mend the gold, or remove the file to run without it"
                )
            if span.end_state_index >= states[span.trajectory_id]:
                raise Mistake(
                    f"{file}: question {question.id}: trajectory {span.trajectory_id!r} has "
                    f"{counted(states[span.trajectory_id], 'state')}, "
                    f"none with index {span.end_state_index}; mend the gold"
                )


def arm_settings(config: RunConfig) -> ArmSettings:
    return ArmSettings(**{field.name: getattr(config, field.name) for field in fields(ArmSettings)})


def _import(prepared: Prepared, store: Store, console: Console) -> dict[str, str]:
    """Import what the chosen questions' haystacks name; returns the slug of each trajectory id."""
    wanted = {one for question in prepared.questions for one in prepared.data.haystacks[question.id]}
    with counting(console, "trajectories") as progress:
        try:
            report = import_lme_v2(prepared.config.data, store, only=wanted, progress=progress)
        except UnknownTrajectoryError as error:
            raise prepared.data.unknown_trajectory(error.trajectory_id) from error
    print_warnings(console, report)
    prepared.data.check_trajectories(report.slugs.keys())
    return dict(report.slugs)


def _reader(config: RunConfig, cancel: threading.Event, console: Console, stack: ExitStack) -> Reader | None:
    if config.reader is None:
        return None
    remark = _remarks(console, "reader")
    return stack.enter_context(closing(Reader(config.reader, cancel=cancel, remark=remark)))


def _judge(config: RunConfig, cancel: threading.Event, console: Console, stack: ExitStack) -> Judge | None:
    if config.judge is None:
        return None
    remark = _remarks(console, "judge")
    return stack.enter_context(closing(Judge(config.judge, cancel=cancel, remark=remark)))


def _remarks(console: Console, role: str) -> Callable[[str], None]:
    """What prints that a model is still waited for, above the progress of the run."""
    return lambda line: console.print(inert(f"waiting for the {role}: {line}"), markup=False)


def _git_revision() -> str | None:
    """The revision of the checkout that runs, where it is one; marked where it has changes."""
    try:
        with Repo(Path(__file__).parent, search_parent_directories=True) as repo:
            return repo.head.commit.hexsha + ("+changes" if repo.is_dirty() else "")
    except (GitError, ValueError):  # no checkout, no git, or one without a commit
        return None
