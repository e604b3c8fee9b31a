"""What all calls of one stage may take, before a run."""

from dataclasses import dataclass

from runbook.gateway.prices import Prices
from runbook.gateway.records import Usage


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """Of all calls of one stage. `cost_usd` None: the model's price is not known."""

    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


def stage_estimate(stage: str, calls: int, usage: Usage, model: str, prices: Prices) -> StageEstimate:
    """Of so many calls, which use that much together."""
    entered = (usage.fresh_input or 0) + (usage.cache_read or 0)
    price = prices.of(model)
    cost = price.cost(usage) if price is not None else None
    return StageEstimate(stage, calls, entered, usage.output or 0, cost)
