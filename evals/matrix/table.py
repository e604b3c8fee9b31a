"""The arms of a matrix side by side: figures with intervals, and differences to one arm."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evals.comparison.compare import compare
from evals.comparison.measures import ALL_PIECES_HIT, EVIDENCE_HIT
from evals.position_leak import LeakCheck, leak_between
from evals.question import Gold
from evals.recorded import RecordedRun
from evals.runs.summary import summarise
from evals.statistics.clusters import clusters_of
from evals.statistics.intervals import Interval
from evals.statistics.paired import holm, mcnemar
from evals.statistics.shares import mean_share_interval


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """An arm against the reference in one measure, over the questions that both have."""

    arm: str
    measure: str
    questions: int
    difference: float
    interval: Interval | None
    p: float | None
    """McNemar's, exact; None for measures that are no yes or no."""
    latency_ratio: float | None
    """Geometric mean, question by question."""
    p_holm: float | None = None
    """Held over all tests of the table."""


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm. Shares are 0..1 and None where nothing tells them; seconds are official latency."""

    name: str
    memory: str
    questions: int
    coverage: float | None
    evidence_hit: float | None
    evidence_hit_interval: list[float] | None
    """Bootstrap over clusters of questions; the others are Wilson's where no question's figure is a mean."""
    all_pieces_hit: float | None
    states_per_question: float | None
    answer_in_context: float | None
    answer_in_context_interval: list[float] | None
    scored: int
    accuracy: float | None
    """Of the questions with a score, as its interval is."""
    accuracy_interval: list[float] | None
    accuracy_strict: float | None
    """Of all questions."""
    latency: dict[str, float | None]
    tokens: int | None
    """Of the memory's query-side model calls, in and out; None where none was told."""
    cost_usd: float | None
    pools: dict[str, float]
    """Pieces of a context that searching brought, by pool, on average."""
    insert: dict[str, Any] | None
    outcomes: dict[str, int]
    remarks: list[str] = field(default_factory=list)
    """What else has to be said of it; see `evals.runs.remarks`."""
    replayed: bool = False
    """Its latencies are nobody's."""


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """All arms, in the order in which they were given."""

    reference: str
    rows: list[ArmRow]
    differences: list[ArmDifference]
    """By measure, then by arm; accuracy where there is a reader, and whole evidence where there is gold."""
    leak: LeakCheck | None
    """None without arms `first` and `random`."""


def matrix_table(
    runs: Mapping[str, RecordedRun], reference: str, gold: Mapping[str, Gold], *, seed: int = 0
) -> MatrixTable:
    """Figures and differences of recorded arms, finished or not."""
    base = runs[reference]
    found = [
        one
        for name, run in runs.items()
        if name != reference
        for one in _differences(name, base, run, gold, seed)
    ]
    held = iter(holm([one.p for one in found if one.p is not None]))
    found = [one if one.p is None else replace(one, p_holm=next(held)) for one in found]
    measures = list(dict.fromkeys(one.measure for one in found))
    return MatrixTable(
        reference,
        [_row(name, run, gold, seed) for name, run in runs.items()],
        sorted(found, key=lambda one: measures.index(one.measure)),
        _leak(list(runs.values())),
    )


def _differences(
    name: str, base: RecordedRun, other: RecordedRun, gold: Mapping[str, Gold], seed: int
) -> list[ArmDifference]:
    try:
        made = compare(base, [other], gold, seed=seed)[0]
    except ValueError:  # no question in common has a figure in both
        return []
    rows = [made.rows[0], *(row for row in made.beside if row.measure == ALL_PIECES_HIT.name)]
    return [
        ArmDifference(
            arm=name,
            measure=row.measure,
            questions=row.questions,
            difference=row.difference,
            interval=row.interval,
            p=None if row.only_a is None or row.only_b is None else mcnemar(row.only_a, row.only_b),
            latency_ratio=made.latency.ratio if made.latency else None,
        )
        for row in rows
    ]


def _row(name: str, run: RecordedRun, gold: Mapping[str, Gold], seed: int) -> ArmRow:
    summary = summarise(run.folder)
    accuracy, evidence, use = summary["accuracy"], summary["evidence"], summary["model_use"]
    return ArmRow(
        name=name,
        memory=run.record.config.memory,
        questions=summary["questions"],
        coverage=summary["coverage"],
        evidence_hit=evidence["hit"],
        evidence_hit_interval=_hit_interval(run, gold, seed),
        all_pieces_hit=evidence["all_pieces_hit"],
        states_per_question=evidence["states_per_question"],
        answer_in_context=summary["answer_in_context"],
        answer_in_context_interval=summary["answer_in_context_interval"],
        scored=accuracy["scored"] if accuracy else 0,
        accuracy=accuracy["conditional"] if accuracy else None,
        accuracy_interval=accuracy["interval"] if accuracy else None,
        accuracy_strict=accuracy["strict"] if accuracy else None,
        latency=summary["latency"],
        tokens=_tokens(use),
        cost_usd=use["cost_usd"] if use else None,
        pools=_pools(run),
        insert=summary["insert_cost"],
        outcomes=summary["outcomes"],
        remarks=[one["text"] for one in summary["remarks"]],
        replayed=summary["replayed"],
    )


def _hit_interval(run: RecordedRun, gold: Mapping[str, Gold], seed: int) -> list[float] | None:
    hits = {
        question: value
        for question, result in run.answered().items()
        if (value := EVIDENCE_HIT.of(result)) is not None
    }
    values = np.array(list(hits.values()))
    found = mean_share_interval(values, clusters_of(list(hits), gold), seed=seed) if hits else None
    return [found.low, found.high] if found else None


def _pools(run: RecordedRun) -> dict[str, float]:
    queries = [query for result in run.results.values() for query in result.queries]
    pieces = Counter(one.pool for query in queries for one in query.result.retrieved)
    return {pool: count / len(queries) for pool, count in pieces.items()}


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
