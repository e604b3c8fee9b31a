"""The arms of a matrix side by side: figures with intervals, and differences to one arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals.comparison.compare import Comparison, compare
from evals.position_leak import LeakCheck, leak_between
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.summary import summarise
from evals.statistics.intervals import Interval
from evals.statistics.paired import holm


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """An arm against the reference, over the questions that both have."""

    measure: str
    questions: int
    difference: float
    interval: Interval | None
    p: float | None
    """McNemar's, exact."""
    p_holm: float | None = None
    """Held over all arms of the matrix."""
    latency_ratio: float | None = None
    """Geometric mean, question by question."""


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm. Shares are 0..1 and None where nothing tells them; seconds are official latency."""

    name: str
    memory: str
    questions: int
    coverage: float | None
    evidence_hit: float | None
    all_pieces_hit: float | None
    states_per_question: float | None
    answer_in_context: float | None
    answer_in_context_interval: list[float] | None
    accuracy: float | None
    accuracy_interval: list[float] | None
    latency: dict[str, float | None]
    tokens: int | None
    """Of the memory's query-side model calls, in and out; None where none was told."""
    cost_usd: float | None
    insert: dict[str, Any] | None
    outcomes: dict[str, int]
    difference: ArmDifference | None
    """None for the reference itself, and where the two have no question in common."""


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """All arms, in the order in which they were given."""

    reference: str
    rows: list[ArmRow]
    leak: LeakCheck | None
    """None without arms `first` and `random`."""


def matrix_table(
    runs: Mapping[str, RecordedRun], reference: str, gold: Mapping[str, Gold], *, seed: int = 0
) -> MatrixTable:
    """Figures and differences of recorded arms, finished or not."""
    base = runs[reference]
    found = {name: _difference(base, run, gold, seed) for name, run in runs.items() if name != reference}
    tested = [name for name, one in found.items() if one is not None and one.p is not None]
    held = holm([p for name in tested if (one := found[name]) and (p := one.p) is not None])
    for name, p_holm in zip(tested, held, strict=True):
        one = found[name]
        if one is not None:
            found[name] = replace(one, p_holm=p_holm)
    rows = [_row(name, run, found.get(name)) for name, run in runs.items()]
    return MatrixTable(reference, rows, _leak(list(runs.values())))


def _difference(
    base: RecordedRun, other: RecordedRun, gold: Mapping[str, Gold], seed: int
) -> ArmDifference | None:
    try:
        made: Comparison = compare(base, [other], gold, seed=seed)[0]
    except ValueError:  # no question in common has a figure in both
        return None
    row = made.rows[0]
    return ArmDifference(
        measure=row.measure,
        questions=row.questions,
        difference=row.difference,
        interval=row.interval,
        p=row.p,
        latency_ratio=made.latency.ratio if made.latency else None,
    )


def _row(name: str, run: RecordedRun, difference: ArmDifference | None) -> ArmRow:
    summary = summarise(run.folder)
    accuracy, evidence, use = summary["accuracy"], summary["evidence"], summary["model_use"]
    return ArmRow(
        name=name,
        memory=run.record.config.memory,
        questions=summary["questions"],
        coverage=summary["coverage"],
        evidence_hit=evidence["hit"],
        all_pieces_hit=evidence["all_pieces_hit"],
        states_per_question=evidence["states_per_question"],
        answer_in_context=summary["answer_in_context"],
        answer_in_context_interval=summary["answer_in_context_interval"],
        accuracy=accuracy["strict"] if accuracy else None,
        accuracy_interval=accuracy["interval"] if accuracy else None,
        latency=summary["latency"],
        tokens=_tokens(use),
        cost_usd=use["cost_usd"] if use else None,
        insert=summary["insert_cost"],
        outcomes=summary["outcomes"],
        difference=difference,
    )


def _tokens(use: dict[str, Any] | None) -> int | None:
    if use is None:
        return None
    known = [count for bucket, count in use["tokens"].items() if count is not None and bucket != "reasoning"]
    return sum(known) if known else None


def _leak(runs: Sequence[RecordedRun]) -> LeakCheck | None:
    by_memory = {run.record.config.memory: run for run in runs}
    if "first" not in by_memory or "random" not in by_memory:
        return None
    return leak_between(by_memory["first"], by_memory["random"])
