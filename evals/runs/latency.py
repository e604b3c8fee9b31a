"""Where the time of queries went, beside the official clock.

The parts on the clock add up to the official latency; those of the last attempt are told apart, all earlier
attempts together are `retries`. `view` and `manifest` are off the clock, `first_model_byte` lies within the
other parts: it is counted from the start of the last attempt, most of it the agent's start-up.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from evals.aggregate import latency_figures
from evals.runs.machine_load import BUSY
from evals.runs.records import QueryRecord
from runbook.memories.cascade import quick_seconds

ON_THE_CLOCK = (
    "candidates",
    "quick_memory",
    "workspace",
    "container",
    "model_wait",
    "agent_and_tools",
    "rate_limit_wait",
    "teardown",
    "validation",
    "retries",
    "harness",
)
"""`agent_and_tools` is the agent's time without an open model call: its start-up, its own work and its tools,
of which `runbook traces` tells the tools alone; `harness` is the rest."""


def latency_parts(query: QueryRecord) -> dict[str, float | None]:
    """Seconds by part; None where nothing can be told, for example without any model call."""
    result = query.result
    last = result.attempts[-1] if result.attempts else None
    own = last.timings if last else {}
    earlier = result.attempts[:-1]
    limited = own.get("rate_limit", 0.0)
    limited_before = sum(attempt.timings.get("rate_limit", 0.0) for attempt in earlier)
    # What the query waited beyond its attempts' own waits, it waited between attempts.
    paused = max(0.0, result.timings.get("rate_limit", 0.0) - limited - limited_before)
    model = own.get("model", 0.0)
    quick = quick_seconds(result)
    parts = {
        "candidates": result.timings.get("candidates", 0.0),
        "quick_memory": quick,
        "workspace": own.get("workspace", 0.0),
        "container": own.get("start", 0.0),
        "model_wait": max(0.0, model - limited),
        "agent_and_tools": max(0.0, own.get("agent", 0.0) - max(model, limited)),
        "rate_limit_wait": limited + paused,
        "teardown": own.get("collect", 0.0),
        "validation": own.get("validate", 0.0),
        "retries": max(0.0, sum(attempt.seconds for attempt in earlier) - quick),
    }
    first_byte = last.wire.first_byte_seconds if last and last.wire else None
    return {
        "view": query.view_seconds,
        "manifest": query.manifest_seconds,
        **parts,
        "harness": max(0.0, result.seconds - sum(parts.values())),
        "first_model_byte": first_byte,
    }


def official_latency(queries: Iterable[QueryRecord]) -> dict[str, float | None]:
    """Figures of the official latency: `avg` is over questions, the others over all their repeats."""
    return _over_questions([(query.question_id, query.result.seconds) for query in queries])


def latency_breakdown(queries: Sequence[QueryRecord]) -> dict[str, Any]:
    """Mean and p95 of each part in seconds, the latency without rate-limit waits, and how busy it was."""
    found = [(query, latency_parts(query)) for query in queries]
    adjusted = [
        (query.question_id, query.result.seconds - (parts["rate_limit_wait"] or 0.0))
        for query, parts in found
    ]
    return {
        "parts": {
            name: _figures(
                [(query.question_id, value) for query, parts in found if (value := parts[name]) is not None]
            )
            for name in ("view", "manifest", *ON_THE_CLOCK, "first_model_byte")
        },
        "on_the_clock": ON_THE_CLOCK,
        "adjusted": _over_questions(adjusted),
        "machine": machine_load(queries),
    }


def _figures(seconds: Sequence[tuple[str, float]]) -> dict[str, float | None]:
    figures = _over_questions(seconds)
    return {"avg": figures["avg"], "p95": figures["p95"]}


def _over_questions(seconds: Sequence[tuple[str, float]]) -> dict[str, float | None]:
    """Each question counts once in the mean, also where some of its repeats came to nothing."""
    by_question: dict[str, list[float]] = {}
    for question_id, value in seconds:
        by_question.setdefault(question_id, []).append(value)
    figures = latency_figures(value for _, value in seconds)
    return figures | ({"avg": fmean(map(fmean, by_question.values()))} if by_question else {})


def machine_load(queries: Sequence[QueryRecord]) -> dict[str, Any]:
    """Load per processor on average, how many queries ran while it was busy, and what that means."""
    loads = [query.load_per_cpu for query in queries if query.load_per_cpu is not None]
    busy = sum(load > BUSY for load in loads)
    note = ""
    if busy:
        note = (
            f"{busy} of {len(loads)} queries ran while more than {BUSY} programs per processor ran or "
            "waited: their latency is this machine's as much as the memory's"
        )
    return {"load_per_cpu_avg": fmean(loads) if loads else None, "busy_queries": busy, "note": note}
