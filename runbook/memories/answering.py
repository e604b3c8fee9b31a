"""One query of a memory without an agent: what it finds becomes a context, and everything is recorded."""

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runbook.attempt import next_attempt_number
from runbook.complaints import of_any
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Ledger, write_calls
from runbook.evidence import Evidence, Span
from runbook.files import write_json
from runbook.gateway.bodies import CALLS
from runbook.memories.preparing import InsertSide
from runbook.memories.spans import within_budget
from runbook.memory import AttemptRecord, QueryResult, QueryTask, Retrieved
from runbook.outcomes import Outcome
from runbook.rendering import render_context

NO_SANDBOX = "none"
INSERT_CALLS = "insert_calls.jsonl"
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brings back: texts that come first in the context, and spans by importance."""

    spans: tuple[Span, ...] = ()
    markdown: str = ""
    retrieved: tuple[Retrieved, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class QueryLog:
    """What a query's model calls took, and what else is to be recorded of it."""

    ledger: Ledger
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def reused_seconds(self) -> float:
        """What calls took whose answers were reused, which belongs to the latency all the same."""
        return sum(call.last_byte_seconds or 0.0 for call in self.ledger.calls if call.replayed)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds of all calls, one after the other, and the parts of them that were waits or reused."""
        calls = self.ledger.calls
        return {
            "model": sum(call.last_byte_seconds or 0.0 for call in calls),
            "rate_limit": sum(call.rate_limit_seconds for call in calls),
            "reused": self.reused_seconds,
        }


def answer(
    name: str,
    task: QueryTask,
    budget: int,
    search: Callable[[], Found],
    *,
    log: QueryLog | None = None,
    insert: InsertSide | None = None,
) -> QueryResult:
    """Search, render, and say how it went; a model's failure is the outcome, with the empty context.

    The clock runs from here until the context is there; reused calls add what they took when recorded. The
    attempt and its calls are then written to a folder. `insert` is what preparing the haystack took, for the
    first query after it.

    Raises OSError where the disk is full.
    """
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    begun = time.monotonic()
    outcome, detail, found = Outcome.OK, "", Found()
    try:
        found = search()
    except EndpointError as error:
        outcome, detail = error.outcome, str(error)
    except OSError as error:
        if error.errno in DISK_FULL:  # no further question would fare better
            raise
        outcome, detail = Outcome.SANDBOX_ERROR, of_any(error)
    searched = time.monotonic()
    evidence = Evidence(memory_markdown=found.markdown, trajectory_spans=within_budget(found.spans, budget))
    by_id = {entry.id: entry for entry in task.haystack.entries.values()}
    context = render_context(evidence, by_id)
    reused = log.reused_seconds if log else 0.0
    seconds = time.monotonic() - begun + reused
    timings = {"agent": searched - begun + reused, **(log.timings if log else {})}
    record = AttemptRecord(
        number=1,
        outcome=outcome,
        detail=detail,
        agent=name,
        sandbox=NO_SANDBOX,
        started_at=started_at,
        seconds=searched - begun + reused,
        timings=timings,
        extra=log.extra if log else {},
        wire=log.ledger.facts() if log else None,
    )
    rendered = time.monotonic() - searched
    return QueryResult(
        outcome=outcome,
        seconds=seconds,
        timings={**timings, "render": rendered},
        attempts=[_written(record, task.folder, log, insert)],
        evidence=evidence if outcome is Outcome.OK else None,
        context=context,
        retrieved=list(found.retrieved),
        confidence=found.confidence,
        insert_cost=insert.cost if insert else None,
    )


def _written(
    record: AttemptRecord, attempts: Path, log: QueryLog | None, insert: InsertSide | None
) -> AttemptRecord:
    """The record, in its folder beside the calls of the query and of preparing, where there are any.

    Every attempt has a folder, so that its number is no other's: a cascade makes attempts of two memories.
    """
    calls = {CALLS: log.ledger.calls if log else [], INSERT_CALLS: insert.calls if insert else []}
    numbered = record.model_copy(update={"number": next_attempt_number(attempts)})
    folder = attempts / str(numbered.number)
    folder.mkdir(parents=True)
    for file, made in calls.items():
        if made:
            write_calls(folder / file, made)
    write_json(folder / "attempt.json", numbered)
    return numbered
