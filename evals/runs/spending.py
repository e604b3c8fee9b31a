"""What the memory's own model calls cost a run, as the gateway saw them on the wire."""

from collections.abc import Iterable, Sequence
from typing import Any

from evals.runs.records import QueryRecord
from runbook.gateway.records import Usage, WireFacts

BUCKETS = tuple(Usage.model_fields)


def spending(queries: Sequence[QueryRecord], correct: int | None) -> dict[str, Any] | None:
    """Sums over all attempts of the current records; None where no agent spoke to a model.

    Tokens are sums of what providers told; `usage_unknown_calls` counts the calls that told nothing, and
    `reused_calls` those that were asked earlier and count here as they did then. Money is USD of all calls
    but those that were broken off (`abandoned_calls`), None where the price of any is unknown.
    `rate_limit_seconds` are part of the official latency.

    Args:
        correct: questions answered correctly, None without a reader; for the price of one of them.
    """
    wires = [wire for query in queries for attempt in query.result.attempts if (wire := attempt.wire)]
    if not wires:
        return None
    costs = [wire.cost_usd for wire in wires if wire.calls > wire.abandoned_calls]
    cost = None if None in costs else sum(one for one in costs if one is not None)
    tokens = {bucket: told_sum(getattr(wire.usage, bucket) for wire in wires) for bucket in BUCKETS}
    total = told_sum(tokens[bucket] for bucket in BUCKETS if bucket != "reasoning")
    return {
        "calls": sum(wire.calls for wire in wires),
        "failed_calls": sum(wire.failed_calls for wire in wires),
        "reused_calls": sum(wire.reused_calls for wire in wires),
        "abandoned_calls": sum(wire.abandoned_calls for wire in wires),
        "tool_calls": sum(wire.tool_calls for wire in wires),
        "tokens": tokens,
        "estimated_tokens": sum(wire.estimated_tokens for wire in wires),
        "usage_unknown_calls": sum(wire.usage_unknown_calls for wire in wires),
        "cost_usd": cost,
        "cost_usd_per_correct": cost / correct if cost is not None and correct else None,
        "tokens_per_correct": total / correct if total is not None and correct else None,
        "model_seconds": sum(wire.model_seconds for wire in wires),
        "rate_limit_seconds": _rate_limited(queries),
        "retries": sum(wire.retries for wire in wires),
        "models": _models(wires),
    }


def _rate_limited(queries: Sequence[QueryRecord]) -> float:
    return sum(query.result.timings.get("rate_limit", 0.0) for query in queries)


def _models(wires: Sequence[WireFacts]) -> list[str]:
    """The models that really answered; those that were asked where none said who it is."""
    actual = {model for wire in wires for model in wire.actual_models}
    return sorted(actual or {model for wire in wires for model in wire.requested_models})


def told_sum(values: Iterable[int | None]) -> int | None:
    """The sum of what was told; None where nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
