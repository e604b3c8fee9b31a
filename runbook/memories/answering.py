"""One query of a memory without an agent: what it finds becomes a context, and everything is recorded."""

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runbook.complaints import of_any
from runbook.embedding.recorded import Given
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.usage import Usage
from runbook.evidence import Evidence, Span
from runbook.gateway import records as wire
from runbook.gateway.prices import Prices
from runbook.memories.spans import within_budget
from runbook.memory import AttemptRecord, InsertCost, QueryResult, QueryTask, Retrieved
from runbook.outcomes import Outcome
from runbook.rendering import render_context

NO_SANDBOX = "none"
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Found:
    """What a search brings back: texts that come first in the context, and spans by importance."""

    spans: tuple[Span, ...] = ()
    markdown: str = ""
    retrieved: tuple[Retrieved, ...] = ()
    confidence: float | None = None


@dataclass(slots=True)
class QueryLog:
    """What a query's model calls took, and what is to be recorded of it."""

    given: list[Given] = field(default_factory=list)
    extra: dict[str, object] = field(default_factory=dict)

    def add(self, given: Given) -> Given:
        """Note a call; returns it."""
        self.given.append(given)
        return given

    @property
    def reused_seconds(self) -> float:
        """What calls took whose answers were reused, which belongs to the latency all the same."""
        return sum(one.answer.seconds for one in self.given if one.reused)

    @property
    def model_seconds(self) -> float:
        """What all calls took, one after the other."""
        return sum(one.answer.seconds for one in self.given)

    def facts(self) -> wire.WireFacts | None:
        """The sum of the calls, as the gateway tells of an agent's; None without calls."""
        if not self.given:
            return None
        prices = Prices.read()
        answers = [one.answer for one in self.given]
        usages = [wire_usage(one.usage) for one in answers]
        costs = [
            price.cost(usage) if (price := prices.of(one.model)) else None
            for one, usage in zip(answers, usages, strict=True)
        ]
        return wire.WireFacts(
            calls=sum(one.calls for one in answers),
            usage=summed(usages),
            usage_unknown_calls=sum(one.fresh_input is None for one in usages),
            cost_usd=None if None in costs else sum(one for one in costs if one is not None),
            actual_models=sorted({one.model for one in answers if one.model}),
            model_seconds=self.model_seconds,
        )


def wire_usage(usage: Usage) -> wire.Usage:
    """The same counts in the gateway's buckets, which do not overlap."""
    fresh = usage.prompt_tokens
    if fresh is not None and usage.cached_tokens is not None:
        fresh = max(0, fresh - usage.cached_tokens)
    return wire.Usage(
        fresh_input=fresh,
        cache_read=usage.cached_tokens,
        output=usage.completion_tokens,
        reasoning=usage.reasoning_tokens,
    )


def summed(usages: list[wire.Usage]) -> wire.Usage:
    """Sums of what is known; a bucket is None where no call told it."""
    sums: dict[str, int | None] = {}
    for bucket in wire.Usage.model_fields:
        known = [value for one in usages if (value := getattr(one, bucket)) is not None]
        sums[bucket] = sum(known) if known else None
    return wire.Usage(**sums)


def answer(
    name: str,
    task: QueryTask,
    budget: int,
    search: Callable[[QueryLog], Found],
    insert_cost: InsertCost | None = None,
) -> QueryResult:
    """Search, render, and say how it went; a model's failure is the outcome, with the empty context.

    The clock runs from here until the context is there; reused calls add what they took when recorded.
    Raises OSError where the disk is full.
    """
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    begun = time.monotonic()
    log = QueryLog()
    outcome, detail, found = Outcome.OK, "", Found()
    try:
        found = search(log)
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
    seconds = time.monotonic() - begun + log.reused_seconds
    timings = {
        "agent": searched - begun + log.reused_seconds,
        "model": log.model_seconds,
        "reused": log.reused_seconds,
    }
    record = AttemptRecord(
        number=1,
        outcome=outcome,
        detail=detail,
        agent=name,
        sandbox=NO_SANDBOX,
        started_at=started_at,
        seconds=searched - begun + log.reused_seconds,
        timings=timings,
        extra=log.extra,
        wire=log.facts(),
    )
    return QueryResult(
        outcome=outcome,
        seconds=seconds,
        timings={**timings, "render": time.monotonic() - searched},
        attempts=[record],
        evidence=evidence if outcome is Outcome.OK else None,
        context=context,
        retrieved=list(found.retrieved),
        confidence=found.confidence,
        insert_cost=insert_cost,
    )
