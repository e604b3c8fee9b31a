"""A run's traces, question by question."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evals.dataset import DatasetError, load_data_root
from evals.evidence_recall import states_of
from evals.question import Gold
from evals.runs.config import RunRecord
from evals.runs.folder import RunFolder
from evals.runs.results import QuestionResult, load_figures
from evals.traces.addresses import Names, State, listed_states
from evals.traces.attempt import AttemptFigures, AttemptReading, read_attempt
from evals.traces.funnel import ErrorClass, Funnel, error_class, is_gold, share_hit
from manifests.store import Store, StoreError
from runbook.memories.answering import NO_SANDBOX
from runbook.traces import TraceError, read_trace
from runbook.untrusted_files import UnreadableFile, read_untrusted

TRACE = "trace.jsonl"
_CANDIDATES = "CANDIDATES.md"
_CANDIDATES_BYTES = 256 * 1024


class AttemptTrace(BaseModel):
    """One attempt of a question."""

    model_config = ConfigDict(extra="forbid")

    number: int
    outcome: str
    seconds: float
    figures: AttemptFigures | None
    """None where there is no trace to read."""
    problem: str = ""
    """Why there is none; "" for a memory without an agent, of which none is to be expected."""


class QuestionTrace(BaseModel):
    """One question: its attempts, and how far its gold came in the one that counts, the last."""

    model_config = ConfigDict(extra="forbid")

    question_id: str
    question_type: str
    agent: str
    outcome: str
    score: int | None
    attempts: list[AttemptTrace]
    funnel: Funnel
    error_class: ErrorClass | None = None
    states_opened: int | None = None
    first_gold_seconds: float | None = None
    """When the last attempt first asked for a state of the gold."""


class RunTraces(BaseModel):
    """All questions of a run that were asked."""

    model_config = ConfigDict(extra="forbid")

    run: str
    agent: str
    questions: list[QuestionTrace]
    notes: list[str] = []
    """What could not be told, and why."""


def trace_run(path: Path) -> RunTraces:
    """Read the traces of a run, finished or not.

    Raises:
        RunError: `path` is no run, or its records are damaged.
    """
    folder = RunFolder.open(path)
    record = folder.record()
    notes: list[str] = []
    gold = _gold(record, notes)
    names = _names(record, notes)
    questions = [
        _question(folder, record, result, gold.get(result.question_id), names)
        for result in load_figures(folder, record)
        if result.query is not None
    ]
    if not questions:
        notes.append("no question has been asked yet")
    problems = [one.problem for question in questions for one in question.attempts if one.problem]
    searches = sum(
        one.figures is None and not one.problem for question in questions for one in question.attempts
    )
    if searches:
        which = "1 attempt is a search" if searches == 1 else f"{searches} attempts are searches"
        notes.append(f"{which} without an agent, so no call of a tool is to be told of")
    if problems:
        which = "1 attempt has" if len(problems) == 1 else f"{len(problems)} attempts have"
        first = "" if len(problems) == 1 else "the first: "
        notes.append(f"{which} no trace that can be read: {first}{problems[0]}")
    agent = "+".join(sorted({question.agent for question in questions})) or record.config.agent
    return RunTraces(run=str(path), agent=agent, questions=questions, notes=notes)


def _question(
    folder: RunFolder, record: RunRecord, result: QuestionResult, gold: Gold | None, names: Names
) -> QuestionTrace:
    assert result.query is not None
    query = result.query.result
    attempts, last = [], AttemptReading(AttemptFigures())
    candidates: set[State] | None = None
    for attempt in query.attempts:
        place = folder.attempts_folder(result.question_id) / str(attempt.number)
        reading, problem = (None, "") if attempt.sandbox == NO_SANDBOX else _read(place, names)
        attempts.append(
            AttemptTrace(
                number=attempt.number,
                outcome=attempt.outcome.value,
                seconds=attempt.seconds,
                figures=reading.figures if reading else None,
                problem=problem,
            )
        )
        last = reading or AttemptReading(AttemptFigures())
        candidates = _candidates(place, names)
    told = attempts[-1].figures if attempts else None
    # A program that asks no model and calls no tool (scout) opens states that no trace can tell of.
    traced = told is not None and bool(told.calls or told.tokens)
    cited = share_hit(states_of(query.evidence.trajectory_spans) if query.evidence else (), gold)
    golden = [at for state, at in last.opened.items() if gold and at is not None and is_gold(state, gold)]
    return QuestionTrace(
        question_id=result.question_id,
        question_type=result.question_type,
        agent=query.attempts[-1].agent if query.attempts else record.config.agent,
        outcome=result.outcome.value if result.outcome else "",
        score=result.score,
        attempts=attempts,
        funnel=Funnel(
            in_candidates=None if candidates is None else share_hit(candidates, gold),
            listed=share_hit(last.listed, gold) if traced else None,
            opened=share_hit(last.opened, gold) if traced else None,
            cited=cited,
            in_context=_in_context(result, cited),
            answered=None if result.score is None else result.score == 1,
            answered_from_gold=None if result.score is None or cited is None else result.score == cited == 1,
        ),
        error_class=error_class(result.question_type, result.score, cited),
        states_opened=len(last.opened) if traced else None,
        first_gold_seconds=min(golden, default=None),
    )


def _in_context(result: QuestionResult, cited: float | None) -> float | None:
    reading = result.reading.reading if result.reading else None
    return None if reading is None or reading.cut.truncated else cited


def _read(place: Path, names: Names) -> tuple[AttemptReading | None, str]:
    try:
        return read_attempt(read_trace(place / TRACE), names), ""
    except TraceError as error:
        return None, str(error)


def _candidates(place: Path, names: Names) -> set[State] | None:
    """The states that lay before the agent, which may have changed the file since; None without a file."""
    try:
        text = read_untrusted(place / "workspace" / _CANDIDATES, _CANDIDATES_BYTES, below=place)
    except UnreadableFile:
        return None
    return listed_states(text.decode("utf-8", "replace"), names)


def _gold(record: RunRecord, notes: list[str]) -> Mapping[str, Gold]:
    try:
        root = load_data_root(record.config.data, record.config.tier)
    except DatasetError as error:
        notes.append(f"no gold, so no funnel: {error}")
        return {}
    if root.gold is None:
        notes.append(f"no gold, so no funnel: {record.config.data} has no gold.json")
    return root.gold or {}


def _names(record: RunRecord, notes: list[str]) -> Names:
    if not (record.config.store / "FORMAT").is_file():
        notes.append(f"no store at {record.config.store}, so nothing is said of opened states")
        return Names({})
    try:
        return Names({entry.slug: entry.id for entry in Store.open(record.config.store).entries()})
    except StoreError as error:
        notes.append(f"nothing is said of opened states: {error}")
        return Names({})
