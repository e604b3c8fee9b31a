"""A run as a report reads it: what is damaged or gone is said, and all the rest is shown."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evals.dataset import DatasetError, load_data_root
from evals.question import EvalQuestion, Gold
from evals.recorded import RecordedRun
from evals.report.pictures import Archive
from evals.runs.folder import RunError, RunFolder
from evals.runs.remarks import About, remarks_of
from evals.runs.results import QuestionRecords, QuestionResult
from evals.traces.run import QuestionTrace, trace_run
from runbook.memories.answering import NO_SANDBOX
from runbook.memories.registry import AGENTS
from runbook.memory import AttemptRecord


@dataclass
class ReportedRun:
    """One run and everything around it that can still be read."""

    letter: str
    """A or B."""
    run: RecordedRun
    questions: Mapping[str, EvalQuestion]
    """By id; none where the data root is gone or changed."""
    gold: Mapping[str, Gold]
    archive: Archive
    traces: Mapping[str, QuestionTrace]
    notes: list[str] = field(default_factory=list)
    """What could not be read, and why."""

    @property
    def folder(self) -> RunFolder:
        return self.run.folder

    @cached_property
    def several(self) -> bool:
        """Whether any stage was repeated."""
        return self.run.record.config.repeats.several

    @cached_property
    def has_agent(self) -> bool:
        """Whether an agent answers, or may: without one there is no sandbox, deadline, retry or timeline."""
        config = self.run.record.config
        names = {config.memory}
        if config.memory == "cascade":
            names = {config.retrieval.cascade.quick, config.retrieval.cascade.slow}
        return not names.isdisjoint(AGENTS) or any(map(is_by_agent, attempts_of(self.run)))


def is_by_agent(attempt: AttemptRecord) -> bool:
    """Whether an agent made this attempt; a memory that searches by itself starts no sandbox."""
    return attempt.sandbox != NO_SANDBOX


def attempts_of(run: RecordedRun) -> Iterator[AttemptRecord]:
    """The attempts of each question's first asking."""
    for result in run.results.values():
        yield from result.query.result.attempts if result.query else ()


def load(path: Path, letter: str) -> ReportedRun:
    """Read a run, finished or not. Raises RunError where it is none, or of another version."""
    folder = RunFolder.open(path)
    record = folder.record()
    notes: list[str] = []
    results: dict[str, QuestionResult] = {}
    damaged = []
    for question_id in record.questions:
        try:
            results[question_id] = QuestionRecords(folder, record, question_id).result(question_id)
        except RunError as error:
            damaged.append(str(error))
    if damaged:
        which = "one question" if len(damaged) == 1 else f"{len(damaged)} questions"
        notes.append(f"The records of {which} are damaged and left out. First: {damaged[0]}")
    run = RecordedRun(folder, record, results)
    if not any(result.query for result in results.values()):
        notes.append("No question has been asked yet.")
    elif missing := sum(result.query is None for result in results.values()):
        notes.append(f"{missing} of {len(results)} questions have not been asked yet.")
    notes += [one.text for one in remarks_of(run) if one.about is not About.LOAD]
    questions, gold = _data(run, notes)
    return ReportedRun(
        letter=letter,
        run=run,
        questions=questions,
        gold=gold,
        archive=Archive(record.config.store),
        traces=_traces(run, damaged=bool(damaged), notes=notes),
        notes=notes,
    )


def _data(run: RecordedRun, notes: list[str]) -> tuple[dict[str, EvalQuestion], Mapping[str, Gold]]:
    config = run.record.config
    try:
        data = load_data_root(config.data, config.tier)
    except DatasetError as error:
        notes.append(f"Questions are shown as the agent got them, without type, answer or gold: {error}")
        return {}, {}
    if dict(data.digests) != run.record.data_digests:
        notes.append(
            f"{config.data} changed since the run began, so its answers and gold are not shown: restore it."
        )
        return {}, {}
    if data.gold is None:
        notes.append("The data has no gold evidence, so nothing is said of what was missed.")
    return {question.id: question for question in data.questions}, data.gold or {}


def _traces(run: RecordedRun, *, damaged: bool, notes: list[str]) -> dict[str, QuestionTrace]:
    if damaged:
        notes.append("What agents did is not counted over the run, because of the damaged records.")
        return {}
    try:
        traces = trace_run(run.folder.path)
    except RunError as error:
        notes.append(f"What agents did is not counted: {error}")
        return {}
    untraced = sum(bool(attempt.problem) for one in traces.questions for attempt in one.attempts)
    if untraced == 1:
        notes.append("1 attempt has no trace that can be read: its timeline is empty.")
    elif untraced > 1:
        notes.append(f"{untraced} attempts have no trace that can be read: their timelines are empty.")
    return {one.question_id: one for one in traces.questions}
