"""A memory that an installed package made, held to what a run takes on trust from its own.

Its time is measured, its evidence is held to haystack and budget as an agent's is, its context is rendered
from that evidence, and what goes wrong in it is the outcome of one question.
"""

import errno
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from manifests.views import View
from runbook.attempt import next_attempt_number
from runbook.complaints import of_any
from runbook.context import MemoryContext
from runbook.endpoint.errors import EndpointError
from runbook.evidence import Evidence, InvalidEvidence, KnownTrajectories
from runbook.files import write_atomically, write_json
from runbook.memories.errors import MemoryFaultError
from runbook.memories.held_evidence import HeldEvidence, held_evidence
from runbook.memory import AttemptRecord, Memory, QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.rendering import render_context

NO_SANDBOX = "none"
TRACEBACK = "traceback.txt"
_TRACEBACK_CHARACTERS = 200_000
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_HAIR = 0.1
_ANSWERS = (Outcome.OK, Outcome.EMPTY_VALID)


@dataclass(frozen=True, slots=True)
class _Started:
    """Where a query stands when it begins."""

    at: str
    begun: float
    """Monotonic seconds."""
    number: int
    """The first that no attempt has."""


@dataclass(frozen=True, slots=True)
class PackageMemory:
    """Safe to use from several threads at once where the package's memory is."""

    name: str
    origin: str
    """Who offers it, for messages."""
    made: Memory
    budget: int
    """Distinct states that the evidence may hold."""
    _unprepared: dict[str, EndpointError] = field(default_factory=dict)
    """By the digest of the haystack that a model's failure left unprepared."""

    def insert(self, haystack: View) -> None:
        """The package's. A model's failure is kept for the query, whose outcome it is.

        Raises:
            MemoryFaultError: it failed in any other way, which no further question would mend.
        """
        try:
            self.made.insert(haystack)
        except EndpointError as error:
            self._unprepared[haystack.digest] = error
        except (Exception, SystemExit) as error:
            _raise_full_disk(error)
            raise MemoryFaultError(f"{self.origin}: insert failed: {_fault(error)}") from error
        else:
            self._unprepared.pop(haystack.digest, None)

    def query(self, task: QueryTask) -> QueryResult:
        """The package's answer as far as it holds; its exceptions are this question's outcome.

        Raises OSError where the disk is full, or the store lost a file.
        """
        started = _Started(
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            time.monotonic(),
            next_attempt_number(task.folder),
        )
        try:
            result = self._asked(task)
        except EndpointError as error:
            return self._failed(task, started, error.outcome, str(error), error)
        except (Exception, SystemExit) as error:
            _raise_full_disk(error)
            outcome = Outcome.CANCELLED if task.cancel.is_set() else Outcome.SANDBOX_ERROR
            return self._failed(task, started, outcome, f"{self.origin}: {_fault(error)}", error)
        return self._held(task, started, result, time.monotonic() - started.begun)

    def _asked(self, task: QueryTask) -> QueryResult:
        """What the package answers, looked at again: what was changed or built by hand holds anything."""
        if (unprepared := self._unprepared.get(task.haystack.digest)) is not None:
            raise unprepared
        result: object = self.made.query(task)
        if not isinstance(result, QueryResult):
            raise TypeError(f"query returned {type(result).__name__}, which is no QueryResult")
        return QueryResult.model_validate(
            result.model_dump(include=set(QueryResult.model_fields), warnings=False)
        )

    def _failed(
        self, task: QueryTask, started: _Started, outcome: Outcome, detail: str, error: BaseException
    ) -> QueryResult:
        seconds = time.monotonic() - started.begun
        record = self._record(next_attempt_number(task.folder), started, outcome, seconds)
        record = record.model_copy(update={"detail": detail})
        folder = task.folder / str(record.number)
        folder.mkdir(parents=True)
        lines = "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]
        write_atomically(folder / TRACEBACK, lines.encode("utf-8", "replace"))
        write_json(folder / "attempt.json", record)
        return QueryResult(outcome=outcome, seconds=seconds, attempts=[record])

    def _held(self, task: QueryTask, started: _Started, result: QueryResult, took: float) -> QueryResult:
        entries = {entry.id: entry for entry in task.haystack.entries.values()}
        known = KnownTrajectories((one.id, one.slug, one.states) for one in entries.values())
        outcome, detail, held = result.outcome, "", HeldEvidence(None)
        if outcome in _ANSWERS:
            try:
                held = held_evidence(result.evidence, result.context, known, self.budget)
                outcome = Outcome.EMPTY_VALID if held.evidence is None else Outcome.OK
            except InvalidEvidence as refusal:
                outcome, detail = Outcome.INVALID_OUTPUT, f"{self.origin}: {refusal.reason}"
                held = HeldEvidence(None, refusal.repairs, refusal.unknown_ids)
        rendering = time.monotonic()
        context = render_context(held.evidence or Evidence(), entries)
        rendered = 0.0 if context == result.context else time.monotonic() - rendering
        repairs = [*held.repairs, *_remade(result.context, context)]
        # What it waited for before, in an earlier run, is part of what its answer takes.
        seconds = took + rendered + max(0.0, result.timings.get("reused", 0.0))
        attempts = _numbered(result.attempts, started.number) or [
            self._record(next_attempt_number(task.folder), started, outcome, seconds)
        ]
        attempts = [_within(one, seconds) for one in attempts]
        last = attempts[-1]
        attempts[-1] = last.model_copy(
            update={
                "outcome": outcome,
                "detail": detail or last.detail,
                "repairs": [*last.repairs, *repairs],
                "unknown_ids": [*last.unknown_ids, *held.unknown_ids],
                "notes": [*last.notes, *_told_otherwise(result.seconds, seconds)],
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
                "timings": _capped(result.timings, seconds),
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


def _remade(given: MemoryContext, context: MemoryContext) -> list[str]:
    if not given.items or given == context:
        return []
    return ["context: rendered from the evidence in place of the memory's own, so that one is scored"]


def _told_otherwise(told: float, seconds: float) -> list[str]:
    """A note where a memory tells another time than was measured, and not only by a hair."""
    if not told or abs(told - seconds) <= max(0.01, _HAIR * seconds):
        return []
    return [f"it told {told:.2f} s for the query, but {seconds:.2f} s were measured"]


def _numbered(attempts: Sequence[AttemptRecord], first: int) -> list[AttemptRecord]:
    """The attempts, with numbers that no earlier ones have."""
    numbers = {one.number for one in attempts}
    if len(numbers) == len(attempts) and min(numbers, default=first) >= first:
        return list(attempts)
    return [one.model_copy(update={"number": first + place}) for place, one in enumerate(attempts)]


def _within(attempt: AttemptRecord, seconds: float) -> AttemptRecord:
    """An attempt that took no longer than all of them, as far as it told its times itself."""
    told = {"seconds": min(attempt.seconds, seconds), "timings": _capped(attempt.timings, seconds)}
    return attempt.model_copy(update=told)


def _capped(timings: Mapping[str, float], seconds: float) -> dict[str, float]:
    return {name: min(max(0.0, value), seconds) for name, value in timings.items()}


def _raise_full_disk(error: BaseException) -> None:
    """Raise what no further question would survive, and what a run waits for."""
    if isinstance(error, OSError) and error.errno in _DISK_FULL:
        raise error


def _fault(error: BaseException) -> str:
    """The exception in a line, with the place where it was raised."""
    said = of_any(error) if isinstance(error, Exception) else str(error)
    kind = type(error).__name__
    text = kind if said == kind else f"{kind}: {said}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else text
