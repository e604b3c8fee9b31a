"""What a run may take, before it is run: rough by nature, and said to be.

Reader and judge follow from the settings and from the recordings themselves. What an agent takes depends on
the agent: its figures are those that published coding agents took on this kind of question.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import orjson

from evals.dataset import DataRoot
from evals.question import EvalQuestion
from evals.runs.config import RunConfig
from evals.runs.retrieval_estimates import Haystacks, Recording, retrieval_stages
from evals.runs.stage_estimates import StageEstimate, stage_estimate
from evals.scoring.eval_function import parse_eval_function
from evals.tokens import EstimatedTokens
from manifests.store import Entry
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


Kind = Literal["none", "model-free", "model"]
"""Of agents: there is none, it asks no model, it asks one."""


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
    config: RunConfig,
    questions: Sequence[EvalQuestion],
    *,
    agent: Kind,
    prices: Prices,
    haystacks: Haystacks,
) -> Estimate:
    """What it may take to run these questions.

    Args:
        agent: whether the memory asks an agent, and whether that asks a model of its own.
    """
    counts = config.repeats
    queries = len(questions) * counts.agent
    readings = queries * counts.reader if config.reader is not None else 0
    judged = sum(parse_eval_function(one.eval_function).needs_model for one in questions)
    votes = judged * counts.agent * counts.reader * counts.judge * config.votes if config.judge else 0
    stages, seconds = retrieval_stages(config, queries, haystacks, prices)
    if agent == "model":
        stages = (*stages, _agent(config, queries, prices))
    if config.reader is not None:
        a_context = min(CONTEXT_TOKENS, config.budget * tokens_of_a_state(config.data))
        usage = Usage(fresh_input=readings * a_context, output=readings * READER_OUTPUT)
        stages = (*stages, stage_estimate("reader", readings, usage, config.reader.model, prices))
    if config.judge is not None:
        usage = Usage(fresh_input=votes * JUDGE_INPUT, output=votes * JUDGE_OUTPUT)
        stages = (*stages, stage_estimate("judge", votes, usage, config.judge.model, prices))
    seconds += queries * min(config.timeout, AGENT_SECONDS if agent == "model" else MODEL_FREE_SECONDS)
    seconds += readings * READER_SECONDS + votes * JUDGE_SECONDS
    return Estimate(queries, stages, seconds / config.concurrency / 3600)


def _agent(config: RunConfig, queries: int, prices: Prices) -> StageEstimate:
    rounds = queries * AGENT_ROUNDS
    cached = int(rounds * AGENT_INPUT_A_ROUND * AGENT_CACHED_SHARE)
    usage = Usage(
        fresh_input=rounds * AGENT_INPUT_A_ROUND - cached,
        cache_read=cached,
        output=rounds * AGENT_OUTPUT_A_ROUND,
    )
    return stage_estimate("agent", rounds, usage, config.model, prices)


def haystacks_of(
    data: DataRoot, questions: Sequence[EvalQuestion], known: Iterable[Entry], cache: Path
) -> Haystacks:
    """What the questions are asked about.

    Args:
        known: what the store has; recordings that it lacks are taken to be like the first ones of the file.
        cache: where memories keep what they prepared.
    """
    named: dict[str, list[Entry]] = defaultdict(list)
    for entry in known:
        named[entry.id].append(entry)
    recordings = _first_recordings(data.path / "trajectories.jsonl")
    usual = fmean(map(len, recordings)) if recordings else 1.0
    counter = EstimatedTokens()
    tokens = [counter.text(_text(state)) for states in recordings for state in states]
    wanted = dict.fromkeys(one for question in questions for one in data.haystacks[question.id])
    return Haystacks(
        [
            Recording(named[one][0].states if one in named else usual, tuple(e.slug for e in named[one]))
            for one in wanted
        ],
        fmean(tokens) if tokens else 0.0,
        cache,
    )


def tokens_of_a_state(data: Path) -> int:
    """Mean tokens of a recorded state, its screenshot included, from the first recordings of a data root."""
    counter = EstimatedTokens()
    sizes = [
        counter.text(_text(state)) + (IMAGE_TOKENS if state.get("screenshot") else 0)
        for states in _first_recordings(data / "trajectories.jsonl")
        for state in states
    ]
    return round(fmean(sizes)) if sizes else IMAGE_TOKENS


def _text(state: Mapping[str, Any]) -> str:
    return str(state.get("accessibility_tree") or "")


def _first_recordings(file: Path) -> list[list[Mapping[str, Any]]]:
    """The states of the first ones; what cannot be read is left out, the import complains of it."""
    found: list[list[Mapping[str, Any]]] = []
    try:
        with file.open("rb") as lines:
            while lines.tell() < SAMPLE_BYTES and (line := lines.readline(SAMPLE_BYTES)):
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue
                states = row.get("states") if isinstance(row, dict) else None
                if isinstance(states, list):
                    found.append([one for one in states if isinstance(one, dict)])
    except OSError:
        return found
    return found
