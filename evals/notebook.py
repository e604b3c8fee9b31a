"""A run as tables for notebooks: `runbook.load_run("runs/one").questions`.

The tables are lists of dataclasses. Where pandas is installed `to_pandas()` makes a DataFrame of one;
those of attempts, events and calls are joined by `question_id` and `attempt`.
Texts are as they were recorded: nothing in them is escaped or trusted.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from evals.recorded import RecordedRun, read_whole_run
from runbook.gateway.records import ModelCall
from runbook.memory import AttemptRecord
from runbook.traces import TraceError, read_trace
from runbook.traces.lines import read_lines

Row = TypeVar("Row")


class Table(list[Row]):
    """Rows of one kind."""

    def __init__(self, kind: type[Row], rows: Iterable[Row] = ()) -> None:
        super().__init__(rows)
        self.kind = kind

    def to_pandas(self) -> Any:
        """A DataFrame with a column a field, also without rows. Raises ImportError without pandas."""
        import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]

        names = [field.name for field in dataclasses.fields(self.kind)]  # type: ignore[arg-type]
        return pandas.DataFrame([[getattr(row, name) for name in names] for row in self], columns=names)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One chain of one question: without repeats, one row a question. Seconds are wall time."""

    question_id: str
    question_type: str
    agent_repeat: int
    reader_repeat: int
    judge_repeat: int
    outcome: str | None
    """None where nothing is recorded."""
    score: int | None
    seconds: float | None
    """Official latency."""
    attempts: int
    evidence_hit: float | None
    """Share of the question's gold pieces, 0..1."""
    states: int | None
    """Distinct states of the evidence."""
    context_items: int
    response: str | None
    parsed_answer: str | None
    unknown: bool | None
    reason: str | None
    evaluator: str | None
    reader_tokens: int | None
    cost_usd: float | None
    """Of the agent's model calls; None where it is unknown or there were none."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt."""

    question_id: str
    agent_repeat: int
    attempt: int
    outcome: str
    detail: str
    agent: str
    agent_version: str
    sandbox: str
    started_at: str
    seconds: float
    timings: dict[str, float]
    exit_code: int | None
    flags: list[str]
    repairs: list[str]
    calls: int | None
    tool_calls: int | None
    fresh_input: int | None
    cache_read: int | None
    output: int | None
    cost_usd: float | None
    folder: Path


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event of a trace; `at` and `duration` are seconds."""

    question_id: str
    attempt: int
    kind: str
    source: str
    at: float | None
    duration: float | None
    response: str
    tool: str
    command: str
    arguments: str
    exit_code: int | None
    failed: bool | None
    text: str
    output: str
    output_bytes: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class CallRow:
    """One model call as the gateway saw it; times are seconds from the request."""

    question_id: str
    attempt: int
    number: int
    provider: str
    path: str
    requested_at: str
    first_byte_seconds: float | None
    last_byte_seconds: float | None
    status: int | None
    outcome: str | None
    model: str | None
    fresh_input: int | None
    cache_read: int | None
    cache_write: int | None
    output: int | None
    reasoning: int | None
    cost_usd: float | None
    retries: int
    tool_calls: int
    text: str


class RunTables:
    """The tables of one run; each is read when it is first asked for."""

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.problems: list[str] = []
        """What could not be read of traces and calls, found while those tables were read."""

    @property
    def name(self) -> str:
        return self.run.name

    @cached_property
    def questions(self) -> Table[QuestionRow]:
        """In the run's order, with those of which nothing is recorded."""
        return Table(QuestionRow, self._question_rows())

    @cached_property
    def attempts(self) -> Table[AttemptRow]:
        """The attempts of the current records."""
        return Table(AttemptRow, (self._attempt_row(*one) for one in self._attempts()))

    @cached_property
    def events(self) -> Table[EventRow]:
        """All events of all traces: a row each, so a long run takes much memory. See `iter_events`."""
        return Table(EventRow, self.iter_events())

    @cached_property
    def calls(self) -> Table[CallRow]:
        """All model calls that went through the gateway."""
        return Table(CallRow, self._call_rows())

    def iter_events(self) -> Iterator[EventRow]:
        """The events one after the other, in memory that does not grow with them."""
        names = [field.name for field in dataclasses.fields(EventRow)][2:]
        for question_id, _, attempt in self._attempts():
            path = self._place(question_id, attempt) / "trace.jsonl"
            if not path.is_file():
                self.problems.append(f"{path} is not there")
                continue
            try:
                for event in read_trace(path):
                    yield EventRow(question_id, attempt.number, *(getattr(event, name) for name in names))
            except TraceError as error:
                self.problems.append(str(error))

    def _question_rows(self) -> Iterator[QuestionRow]:
        for result in self.run.results.values():
            for agent, readings in enumerate(result.repeats):
                for reader, verdicts in enumerate(readings):
                    for judge, chain in enumerate(verdicts):
                        yield _question_row(
                            result.question_id, result.question_type, agent, reader, judge, chain
                        )

    def _attempts(self) -> Iterator[tuple[str, int, AttemptRecord]]:
        for result in self.run.results.values():
            for query in result.queries:
                for attempt in query.result.attempts:
                    yield result.question_id, query.repeat, attempt

    def _place(self, question_id: str, attempt: AttemptRecord) -> Path:
        return self.run.folder.attempts_folder(question_id) / str(attempt.number)

    def _attempt_row(self, question_id: str, repeat: int, attempt: AttemptRecord) -> AttemptRow:
        wire = attempt.wire
        return AttemptRow(
            question_id=question_id,
            agent_repeat=repeat,
            attempt=attempt.number,
            outcome=attempt.outcome.value,
            detail=attempt.detail,
            agent=attempt.agent,
            agent_version=attempt.agent_version,
            sandbox=attempt.sandbox,
            started_at=attempt.started_at,
            seconds=attempt.seconds,
            timings=dict(attempt.timings),
            exit_code=attempt.exit_code,
            flags=list(attempt.flags),
            repairs=list(attempt.repairs),
            calls=wire.calls if wire else None,
            tool_calls=wire.tool_calls if wire else None,
            fresh_input=wire.usage.fresh_input if wire else None,
            cache_read=wire.usage.cache_read if wire else None,
            output=wire.usage.output if wire else None,
            cost_usd=wire.cost_usd if wire else None,
            folder=self._place(question_id, attempt),
        )

    def _call_rows(self) -> Iterator[CallRow]:
        for question_id, _, attempt in self._attempts():
            path = self._place(question_id, attempt) / "model_calls.jsonl"
            if not path.is_file():
                continue
            with path.open("rb") as file:
                for number, line in enumerate(read_lines(file), start=1):
                    try:
                        call = ModelCall.model_validate_json(line.data)
                    except ValueError:
                        self.problems.append(f"{path}, line {number} is no model call")
                        continue
                    yield _call_row(question_id, attempt.number, call)


def load_run(path: Path | str) -> RunTables:
    """Open a run, finished or not. Raises RunError where it is none, or damaged."""
    return RunTables(read_whole_run(Path(path)))


def _question_row(
    question_id: str, kind: str, agent: int, reader: int, judge: int, chain: Any
) -> QuestionRow:
    query = chain.query.result if chain.query else None
    reading = chain.reading.reading if chain.reading else None
    verdict = chain.verdict.verdict if chain.verdict else None
    recall = chain.query.evidence_recall if chain.query else None
    costs = [attempt.wire.cost_usd if attempt.wire else None for attempt in query.attempts] if query else []
    return QuestionRow(
        question_id=question_id,
        question_type=kind,
        agent_repeat=agent,
        reader_repeat=reader,
        judge_repeat=judge,
        outcome=chain.outcome.value if chain.outcome else None,
        score=chain.score,
        seconds=query.seconds if query else None,
        attempts=len(query.attempts) if query else 0,
        evidence_hit=recall.hit if recall else None,
        states=query.evidence.distinct_states if query and query.evidence else None,
        context_items=len(query.context.items) if query else 0,
        response=reading.response if reading else None,
        parsed_answer=reading.parsed_answer if reading else None,
        unknown=reading.unknown if reading else None,
        reason=verdict.reason if verdict else None,
        evaluator=verdict.evaluator if verdict else None,
        reader_tokens=reading.usage.total_tokens if reading else None,
        cost_usd=None if not costs or None in costs else sum(cost for cost in costs if cost is not None),
    )


def _call_row(question_id: str, attempt: int, call: ModelCall) -> CallRow:
    usage = call.usage
    return CallRow(
        question_id=question_id,
        attempt=attempt,
        number=call.number,
        provider=call.provider,
        path=call.path,
        requested_at=call.requested_at,
        first_byte_seconds=call.first_byte_seconds,
        last_byte_seconds=call.last_byte_seconds,
        status=call.status,
        outcome=call.outcome.value if call.outcome else None,
        model=call.actual_model or call.requested_model,
        fresh_input=usage.fresh_input if usage else None,
        cache_read=usage.cache_read if usage else None,
        cache_write=usage.cache_write if usage else None,
        output=usage.output if usage else None,
        reasoning=usage.reasoning if usage else None,
        cost_usd=call.cost_usd,
        retries=call.retries,
        tool_calls=len(call.tool_calls),
        text=call.text,
    )
