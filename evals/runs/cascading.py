"""How often a cascade's quick memory answered, and how often the slow one had to."""

from collections.abc import Sequence
from typing import Any

from evals.runs.config import RunConfig
from evals.runs.records import QueryRecord
from runbook.memories.cascade import asked_slow
from runbook.memories.needs import CASCADE


def cascade_use(config: RunConfig, answered: Sequence[QueryRecord]) -> dict[str, Any] | None:
    """Queries by the memory whose answer they are; None where the memory is no cascade.

    Args:
        answered: without those that ended in an infrastructure failure, which nobody answered.
    """
    if config.memory != CASCADE:
        return None
    slow = sum(asked_slow(query.result) for query in answered)
    settings = config.retrieval.cascade
    return {
        "quick": len(answered) - slow,
        "slow": slow,
        "quick_memory": settings.quick,
        "slow_memory": settings.slow,
        "threshold": settings.threshold,
    }
