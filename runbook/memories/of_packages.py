"""A memory that an installed package made, held to what a run takes on trust from its own.

Its time is measured and limited, its evidence is held to haystack and budget as an agent's is, its context is
rendered from that evidence, and what goes wrong in it is the outcome of one question.
"""

import math
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from manifests.views import View
from runbook.abandoning import AbandonedError, OverdueError, stoppable
from runbook.attempt import next_attempt_number
from runbook.endpoint.errors import EndpointError
from runbook.evidence import Evidence, InvalidEvidence, KnownTrajectories
from runbook.files import write_atomically, write_json
from runbook.memories.errors import MemoryFaultError
from runbook.memories.held_evidence import HeldEvidence, held_evidence
from runbook.memories.package_faults import (
    ANSWERS,
    Fault,
    caught,
    fault_line,
    raise_full_disk,
    said_by,
    traceback_of,
)
from runbook.memories.package_results import as_written, capped, numbered, remade, told_otherwise, within
from runbook.memory import AttemptRecord, Memory, QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.rendering import render_context

NO_SANDBOX = "none"
TRACEBACK = "traceback.txt"


@dataclass(frozen=True, slots=True)
class _Started:
    """Where a query stands when it begins."""

    at: str
    begun: float
    """Monotonic seconds."""
    number: int
    """The first that no attempt has."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """What came back from a query."""

    result: QueryResult
    seconds: float


@dataclass(frozen=True, slots=True)
class PackageMemory:
    """Safe to use from several threads at once where the package's memory is.

    The package works in threads of its own: one that hangs is left behind.
    """

    name: str
    origin: str
    """Who offers it, for messages."""
    made: Memory
    budget: int
    """Distinct states that the evidence may hold."""
    seconds: float = math.inf
    """What a query may take."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """The run's, for `insert`."""
    _unprepared: dict[str, EndpointError] = field(default_factory=dict)
    """By the digest of the haystack that a model's failure left unprepared."""

    def insert(self, haystack: View) -> None:
        """The package's. A model's failure is kept for the query, whose outcome it is.

        Raises:
            MemoryFaultError: it failed in any other way, which no further question would mend.
            AbandonedError: the run was cancelled meanwhile.
        """
        ended = stoppable(lambda _stop: caught(lambda: self.made.insert(haystack)), self.cancel)
        if not isinstance(ended, Fault):
            self._unprepared.pop(haystack.digest, None)
        elif isinstance(ended.error, EndpointError):
            self._unprepared[haystack.digest] = ended.error
        else:
            raise_full_disk(ended.error)
            raise MemoryFaultError(
                f"{self.origin}: insert failed: {fault_line(ended.error)}"
            ) from ended.error

    def query(self, task: QueryTask) -> QueryResult:
        """The package's answer as far as it holds; its exceptions are this question's outcome.

        Raises OSError where the disk is full, or the store lost a file.
        """
        started = _Started(
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            time.monotonic(),
            next_attempt_number(task.folder),
        )

        def asked(stop: threading.Event) -> _Answered | Fault:
            return caught(lambda: self._asked(replace(task, cancel=stop)))

        try:
            ended = stoppable(asked, task.cancel, self.seconds)
        except OverdueError:
            detail = f"no answer within {self.seconds:g} s"
            return self._failed(task, started, Outcome.TIMEOUT, f"{self.origin}: {detail}")
        except AbandonedError:
            return self._failed(task, started, Outcome.CANCELLED, "the run was stopped")
        if isinstance(ended, Fault):
            return self._faulty(task, started, ended)
        return self._held(task, started, ended.result, ended.seconds)

    def _asked(self, task: QueryTask) -> _Answered:
        if (unprepared := self._unprepared.get(task.haystack.digest)) is not None:
            raise unprepared
        begun = time.monotonic()
        result: object = self.made.query(task)
        seconds = time.monotonic() - begun
        return _Answered(as_written(result), seconds)

    def _faulty(self, task: QueryTask, started: _Started, fault: Fault) -> QueryResult:
        raise_full_disk(fault.error)
        if isinstance(fault.error, EndpointError):
            return self._failed(task, started, fault.outcome, said_by(fault.error), fault)
        outcome = Outcome.CANCELLED if task.cancel.is_set() else fault.outcome
        return self._failed(task, started, outcome, f"{self.origin}: {fault_line(fault.error)}", fault)

    def _failed(
        self, task: QueryTask, started: _Started, outcome: Outcome, detail: str, fault: Fault | None = None
    ) -> QueryResult:
        seconds = time.monotonic() - started.begun
        record = self._record(next_attempt_number(task.folder), started, outcome, seconds)
        record = record.model_copy(update={"detail": detail})
        folder = task.folder / str(record.number)
        folder.mkdir(parents=True)
        if fault is not None:
            write_atomically(folder / TRACEBACK, traceback_of(fault.error))
        write_json(folder / "attempt.json", record)
        return QueryResult(outcome=outcome, seconds=seconds, attempts=[record])

    def _held(self, task: QueryTask, started: _Started, result: QueryResult, took: float) -> QueryResult:
        entries = {entry.id: entry for entry in task.haystack.entries.values()}
        known = KnownTrajectories((one.id, one.slug, one.states) for one in entries.values())
        outcome, detail, held = result.outcome, "", HeldEvidence(None)
        if outcome in ANSWERS:
            try:
                held = held_evidence(result.evidence, result.context, known, self.budget)
                outcome = Outcome.EMPTY_VALID if held.evidence is None else Outcome.OK
            except InvalidEvidence as refusal:
                outcome, detail = Outcome.INVALID_OUTPUT, f"{self.origin}: {refusal.reason}"
                held = HeldEvidence(None, refusal.repairs, refusal.unknown_ids)
        rendering = time.monotonic()
        context = render_context(held.evidence or Evidence(), entries)
        rendered = 0.0 if context == result.context else time.monotonic() - rendering
        repairs = [*held.repairs, *remade(result.context, context)]
        # What it waited for before, in an earlier run, is part of what its answer takes.
        seconds = took + rendered + max(0.0, result.timings.get("reused", 0.0))
        free = next_attempt_number(task.folder)
        attempts = numbered(result.attempts, started.number, free) or [
            self._record(free, started, outcome, seconds)
        ]
        attempts = [within(one, seconds) for one in attempts]
        last = attempts[-1]
        attempts[-1] = last.model_copy(
            update={
                "outcome": outcome,
                "detail": detail or last.detail,
                "repairs": [*last.repairs, *repairs],
                "unknown_ids": [*last.unknown_ids, *held.unknown_ids],
                "notes": [*last.notes, *told_otherwise(result.seconds, seconds)],
            }
        )
        for one in attempts:
            folder = task.folder / str(one.number)
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / "attempt.json", one)
        return result.model_copy(
            update={
                "outcome": outcome,
                "seconds": seconds,
                "timings": capped(result.timings, seconds),
                "attempts": attempts,
                "evidence": held.evidence,
                "context": context,
            }
        )

    def _record(self, number: int, started: _Started, outcome: Outcome, seconds: float) -> AttemptRecord:
        return AttemptRecord(
            number=number,
            outcome=outcome,
            agent=self.name,
            sandbox=NO_SANDBOX,
            started_at=started.at,
            seconds=seconds,
            timings={"agent": seconds},
        )
