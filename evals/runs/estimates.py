"""What a run may take, before it is run: rough by nature, and said to be.

Reader and judge follow from the settings and from the recordings themselves. What an agent takes depends on
the agent: its figures are those that published coding agents took on this kind of question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from evals.question import EvalQuestion
from evals.runs.config import RunConfig
from evals.scoring.eval_function import parse_eval_function
from evals.tokens import EstimatedTokens
from runbook.gateway.prices import Prices
from runbook.gateway.records import Usage

SAMPLE_BYTES = 4 * 2**20  # of recordings that are looked at
IMAGE_TOKENS = 1_400  # of a screenshot of usual size
READER_OUTPUT, READER_SECONDS = 2_000, 30.0
JUDGE_INPUT, JUDGE_OUTPUT, JUDGE_SECONDS = 900, 300, 5.0
AGENT_ROUNDS = 20
AGENT_INPUT_A_ROUND, AGENT_CACHED_SHARE, AGENT_OUTPUT_A_ROUND = 25_000, 0.8, 300
AGENT_SECONDS, MODEL_FREE_SECONDS = 150.0, 2.0
CONTEXT_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """Of all calls of one stage. `cost_usd` None: the model's price is not known."""

    stage: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of a whole run; `hours` are wall time at the run's concurrency."""

    queries: int
    stages: tuple[StageEstimate, ...]
    hours: float

    @property
    def cost_usd(self) -> float | None:
        """None where any price is unknown."""
        costs = [stage.cost_usd for stage in self.stages]
        return None if None in costs else sum(one for one in costs if one is not None)


def estimate(
    config: RunConfig, questions: Sequence[EvalQuestion], *, asks_model: bool, prices: Prices
) -> Estimate:
    """What it may take to run these questions.

    Args:
        asks_model: whether the agent asks a model of its own.
    """
    counts = config.repeats
    queries = len(questions) * counts.agent
    readings = queries * counts.reader if config.reader is not None else 0
    judged = sum(parse_eval_function(one.eval_function).needs_model for one in questions)
    votes = judged * counts.agent * counts.reader * counts.judge * config.votes if config.judge else 0
    stages = []
    if asks_model:
        entered = queries * AGENT_ROUNDS * AGENT_INPUT_A_ROUND
        cached = int(entered * AGENT_CACHED_SHARE)
        written = queries * AGENT_ROUNDS * AGENT_OUTPUT_A_ROUND
        usage = Usage(fresh_input=entered - cached, cache_read=cached, output=written)
        cost = _cost(prices, config.model, usage)
        stages.append(StageEstimate("agent", queries * AGENT_ROUNDS, entered, written, cost))
    if config.reader is not None:
        a_context = min(CONTEXT_TOKENS, config.budget * tokens_of_a_state(config.data))
        stages.append(_stage("reader", readings, a_context, READER_OUTPUT, config.reader.model, prices))
    if config.judge is not None:
        stages.append(_stage("judge", votes, JUDGE_INPUT, JUDGE_OUTPUT, config.judge.model, prices))
    a_query = min(config.timeout, AGENT_SECONDS if asks_model else MODEL_FREE_SECONDS)
    seconds = queries * a_query + readings * READER_SECONDS + votes * JUDGE_SECONDS
    return Estimate(queries, tuple(stages), seconds / config.concurrency / 3600)


def _stage(stage: str, calls: int, entered: int, written: int, model: str, prices: Prices) -> StageEstimate:
    usage = Usage(fresh_input=calls * entered, output=calls * written)
    return StageEstimate(stage, calls, calls * entered, calls * written, _cost(prices, model, usage))


def _cost(prices: Prices, model: str, usage: Usage) -> float | None:
    price = prices.of(model)
    return price.cost(usage) if price is not None else None


def tokens_of_a_state(data: Path) -> int:
    """Mean tokens of a recorded state, its screenshot included, from the first recordings of a data root."""
    counter = EstimatedTokens()
    sizes = [
        counter.text(str(state.get("accessibility_tree") or ""))
        + (IMAGE_TOKENS if state.get("screenshot") else 0)
        for state in _first_states(data / "trajectories.jsonl")
    ]
    return round(fmean(sizes)) if sizes else IMAGE_TOKENS


def _first_states(file: Path) -> list[Mapping[str, Any]]:
    """States of the first recordings; what cannot be read is left out, the import complains of it."""
    found: list[Mapping[str, Any]] = []
    try:
        with file.open("rb") as lines:
            while lines.tell() < SAMPLE_BYTES and (line := lines.readline(SAMPLE_BYTES)):
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue
                states = row.get("states") if isinstance(row, dict) else None
                found += [one for one in states if isinstance(one, dict)] if isinstance(states, list) else []
    except OSError:
        return found
    return found
