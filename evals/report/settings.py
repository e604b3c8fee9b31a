"""What a run was asked to do, and with what: only what applied to its memory."""

from collections.abc import Iterator, Sequence
from typing import Any

from evals.report.answerers import Answerer
from evals.report.formats import dollars
from evals.report.loading import ReportedRun, attempts_of, is_by_agent
from evals.runs.config import AIDS, RunConfig
from evals.runs.machine_load import BUSY

_OF_GOLD = frozenset({"oracle", "oracle-slices-notes"})
"""Memories that take no budget of states: what they bring back is given by the gold."""


def settings_of(
    run: ReportedRun,
    machine: dict[str, Any],
    spent: dict[str, Any] | None,
    asked: Sequence[Answerer],
) -> list[tuple[str, str]]:
    """Names and values in the order in which they are read.

    Args:
        machine: how busy it was, of `machine_load`.
        spent: what model calls of the memory took, of `spending`.
    """
    record = run.run.record
    config = record.config
    told = [
        *_memory(run),
        *((one.role, one.whole) for one in asked),
        ("votes", str(config.votes) if config.votes > 1 else ""),
        ("repeats", _repeats(config)),
        ("tier", config.tier),
        ("profile", config.profile),
        *_limits(run),
        ("questions at a time", str(config.concurrency)),
        ("load", _load(machine)),
        ("price", _price(config, spent)),
        ("seed", str(config.seed)),
        ("begun", record.created_at),
        ("data", str(config.data)),
        ("store", str(config.store)),
        ("git revision", record.git_revision or ""),
        *((f"version of {name}", value) for name, value in sorted(record.versions.items())),
    ]
    return [(name, value) for name, value in told if value]


def _memory(run: ReportedRun) -> Iterator[tuple[str, str]]:
    config = run.run.record.config
    retrieval = config.retrieval
    if config.memory == "cascade":
        cascade = retrieval.cascade
        yield "memory", f"cascade: {cascade.quick}, below {cascade.threshold:g} {cascade.slow}"
    elif config.memory != "agent":
        yield "memory", config.memory
    if run.has_agent:
        found = {_versioned(one.agent, one.agent_version) for one in attempts_of(run.run) if is_by_agent(one)}
        yield "agent", ", ".join(sorted(found)) or _versioned(config.agent, config.agent_version)
        yield "model", config.model
        yield "effort", config.effort
        yield "without", ", ".join(aid for aid in AIDS if aid != "summaries" and not getattr(config, aid))
        yield "summaries", "given to the agent" if config.summaries else ""
    for name in ("embedding", "controller", "writer"):
        endpoint = getattr(retrieval, name)
        yield name, endpoint.model if endpoint else ""


def _versioned(name: str, version: str) -> str:
    return f"{name} {version}".strip()


def _limits(run: ReportedRun) -> Iterator[tuple[str, str]]:
    config = run.run.record.config
    if run.has_agent:
        yield "sandbox", "+".join(sorted(_sandboxes(run))) or config.sandbox
        yield "attempts, at most", str(config.attempts)
        yield "deadline of an attempt", f"{config.timeout:g} s"
    if config.memory not in _OF_GOLD:
        yield "state budget", str(config.budget)


def _sandboxes(run: ReportedRun) -> set[str]:
    """Those that attempts really ran in."""
    return {one.sandbox for one in attempts_of(run.run) if is_by_agent(one)}


def _repeats(config: RunConfig) -> str:
    counts = config.repeats
    return f"agent {counts.agent}, reader {counts.reader}, judge {counts.judge}" if counts.several else ""


def _load(machine: dict[str, Any]) -> str:
    mean = machine["load_per_cpu_avg"]
    if mean is None:
        return ""
    return f"{mean:.1f} programs per processor, the mean over queries (busy above {BUSY:g})"


def _price(config: RunConfig, spent: dict[str, Any] | None) -> str:
    if spent is None:
        return ""
    cost = "unknown" if spent["cost_usd"] is None else f"{dollars(spent['cost_usd'])} for the memory's model"
    return f"{cost}, by {config.gateway.prices or 'the price table of this version'}"
