"""The parts of a latency add up to the official clock, and a busy machine is named."""

import pytest

from evals.runs.latency import ON_THE_CLOCK, latency_breakdown, latency_parts
from evals.runs.machine_load import BUSY, load_per_cpu
from evals.runs.records import QueryRecord
from runbook.cli.tables import _latency_rows
from runbook.gateway.records import WireFacts
from runbook.memory import AttemptRecord, QueryResult
from runbook.outcomes import Outcome

LAST = {
    "workspace": 1.0,
    "start": 2.0,
    "agent": 50.0,
    "collect": 0.5,
    "validate": 0.25,
    "model": 30.0,
    "rate_limit": 4.0,
}


def attempt(seconds: float, outcome: Outcome = Outcome.OK, **timings: float) -> AttemptRecord:
    return AttemptRecord(
        number=1,
        outcome=outcome,
        agent="a",
        sandbox="process",
        started_at="2026-01-02T03:04:05.000+00:00",
        seconds=seconds,
        timings=timings,
        wire=WireFacts(calls=1, first_byte_seconds=3.5) if "model" in timings else None,
    )


def query(attempts: list[AttemptRecord], seconds: float, load: float | None = None) -> QueryRecord:
    timings = {"candidates": 0.5, "rate_limit": 15.0}
    for one in attempts:
        for name, value in one.timings.items():
            timings[name] = timings.get(name, 0.0) + value
    result = QueryResult(outcome=Outcome.OK, seconds=seconds, timings=timings, attempts=attempts)
    return QueryRecord(
        question_id="q",
        haystack_digest="h",
        view_seconds=7.0,
        manifest_seconds=0.5,
        load_per_cpu=load,
        result=result,
    )


def test_the_parts_on_the_clock_add_up_and_the_view_is_off_it() -> None:
    failed = attempt(20.0, Outcome.RATE_LIMITED, model=10.0, rate_limit=8.0, agent=18.0)
    parts = latency_parts(query([failed, attempt(54.0, **LAST)], seconds=90.0))
    assert sum(parts[name] or 0.0 for name in ON_THE_CLOCK) == pytest.approx(90.0)
    assert (parts["view"], parts["manifest"]) == (7.0, 0.5)
    assert parts["retries"] == 20.0
    assert parts["rate_limit_wait"] == 4.0 + 15.0, "the last attempt's own, and the pause between attempts"
    assert parts["model_wait"] == 26.0
    assert parts["agent_and_tools"] == 20.0
    assert parts["first_model_byte"] == 3.5


def test_an_agent_without_a_model_has_no_first_byte_and_works_all_the_time() -> None:
    parts = latency_parts(query([attempt(3.0, agent=2.0)], seconds=20.0))
    assert (parts["first_model_byte"], parts["model_wait"], parts["agent_and_tools"]) == (None, 0.0, 2.0)


def test_waits_are_taken_out_of_the_adjusted_latency_only() -> None:
    breakdown = latency_breakdown([query([attempt(54.0, **LAST)], seconds=90.0)])
    assert breakdown["adjusted"]["avg"] == pytest.approx(90.0 - 19.0)


def test_a_machine_that_was_too_busy_is_named() -> None:
    quiet, busy = (query([attempt(1.0)], seconds=20.0, load=load) for load in (0.5, BUSY + 1))
    assert latency_breakdown([quiet])["machine"]["note"] == ""
    assert "1 of 2 queries" in latency_breakdown([quiet, busy])["machine"]["note"]
    assert load_per_cpu() >= 0.0


def test_without_any_query_nothing_is_told() -> None:
    breakdown = latency_breakdown([])
    assert breakdown["parts"]["container"] == {"avg": None, "p95": None}
    assert breakdown["machine"]["load_per_cpu_avg"] is None


def test_the_table_calls_no_start_up_a_tools_time_and_says_from_when_the_first_byte_counts() -> None:
    breakdown = latency_breakdown([query([attempt(54.0, **LAST)], seconds=90.0)])
    rows = dict(_latency_rows(breakdown))
    assert "agent and tools 20.00" in rows["  of it, avg"]
    assert "tool time" not in str(rows)
    assert "first model byte 3.50 after the attempt's start" in rows["  beside it, avg"]
