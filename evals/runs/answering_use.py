"""What reading and judging took, from the current records: calls, tokens and money."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evals.runs.config import RunConfig
from evals.runs.records import ReadingRecord, VerdictRecord
from evals.runs.results import QuestionResult
from evals.runs.spending import BUCKETS, told_sum
from runbook.endpoint.config import EndpointConfig
from runbook.endpoint.ledger import wire_usage
from runbook.endpoint.usage import Usage
from runbook.gateway.prices import Prices
from runbook.gateway.records import Usage as WireUsage
from runbook.gateway.settings import GatewayError
from runbook.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class _Answered:
    """One answer of a reader or a judge."""

    calls: int
    model: str | None
    usage: Usage | None


def answering_use(config: RunConfig, results: Sequence[QuestionResult]) -> dict[str, Any]:
    """`reader_use` and `judge_use`: sums over the readings and verdicts that count; None without that model.

    `calls` are requests, with those that were repeated; tokens are sums of what providers told of the answers
    they led to, and `usage_unknown_calls` counts the answers of which they did not tell all. Money is USD by
    the gateway's price table, None where the price of any answer is unknown. What failed (`failed`) may have
    cost something that nobody told. `reused_votes` were paid for before, and count in nothing else.
    """
    readings = [one for result in results for one in _readings(result)]
    verdicts = [chain.verdict for result in results for chain in result.chains if chain.verdict is not None]
    read = [
        _Answered(one.calls, one.model, one.usage)
        for record in readings
        if (one := record.reading) is not None
    ]
    votes = [vote for record in verdicts if record.verdict is not None for vote in record.verdict.votes]
    voted = [_Answered(vote.calls, vote.model, vote.usage) for vote in votes if not vote.cached]
    prices = _prices(config)
    return {
        "reader_use": _use(config.reader, prices, read, _failed(readings)),
        "judge_use": _use(
            config.judge, prices, voted, _failed(verdicts), reused_votes=sum(vote.cached for vote in votes)
        ),
    }


def _readings(result: QuestionResult) -> Iterator[ReadingRecord]:
    return (
        verdicts[0].reading
        for readings in result.repeats
        for verdicts in readings
        if verdicts[0].reading is not None
    )


def _failed(records: Sequence[ReadingRecord | VerdictRecord]) -> int:
    return sum(record.outcome is not Outcome.OK for record in records)


def _use(
    endpoint: EndpointConfig | None,
    prices: Prices | None,
    answers: Sequence[_Answered],
    failed: int,
    **more: int,
) -> dict[str, Any] | None:
    if endpoint is None:
        return None
    usages = [wire_usage(one.usage) if one.usage else WireUsage() for one in answers]
    costs = [
        _cost(prices, (one.model, endpoint.model), usage) for one, usage in zip(answers, usages, strict=True)
    ]
    return {
        "model": endpoint.model,
        "answered_as": sorted({one.model for one in answers if one.model}),
        "answers": len(answers),
        "calls": sum(one.calls for one in answers),
        "failed": failed,
        "tokens": {bucket: told_sum(getattr(usage, bucket) for usage in usages) for bucket in BUCKETS},
        "usage_unknown_calls": sum(None in (usage.fresh_input, usage.output) for usage in usages),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        **more,
    }


def _cost(prices: Prices | None, models: Sequence[str | None], usage: WireUsage) -> float | None:
    if prices is None:
        return None
    price = next((price for model in models if (price := prices.of(model))), None)
    return price.cost(usage) if price else None


def _prices(config: RunConfig) -> Prices | None:
    """None where the run's own table is gone, so that no price is known."""
    try:
        return Prices.read(config.gateway.prices)
    except GatewayError:
        return None
