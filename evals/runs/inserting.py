"""What preparing haystacks cost a run's memory: insert side, told apart from queries."""

from collections.abc import Sequence
from typing import Any

from evals.runs.records import QueryRecord
from runbook.memory import InsertCost


def insert_costs(queries: Sequence[QueryRecord]) -> dict[str, Any] | None:
    """Sums over the haystacks that were prepared; None where the memory prepares nothing.

    Token counts are None where a provider did not say. What earlier runs had prepared cost nothing here.
    """
    costs = [cost for query in queries if (cost := query.result.insert_cost) is not None]
    if not costs:
        return None
    return {"haystacks": len(costs)} | {name: _sum(costs, name) for name in InsertCost.model_fields}


def _sum(costs: Sequence[InsertCost], name: str) -> float | None:
    values = [getattr(cost, name) for cost in costs]
    return None if None in values else sum(values)
