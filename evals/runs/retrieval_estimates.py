"""What a memory that searches may ask of its models, before it is run: rough by nature.

Insert side: what is not kept of earlier runs. Query side: all of it, as if no answer were kept. What a
package's memory asks is not known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from evals.runs.config import RunConfig
from evals.runs.stage_estimates import StageEstimate, stage_estimate
from runbook.embedding.embedder import vectors_folder
from runbook.endpoint.config import EmbeddingConfig, EndpointConfig
from runbook.gateway.prices import Prices
from runbook.gateway.records import Usage
from runbook.memories.needs import members, roles
from runbook.memories.pools import EVENTS, HINTS, PROCEDURES, RAW, pieces_folder, raw_version
from runbook.memories.settings import CONTROLLER_SAMPLING, RetrievalSettings
from runbook.memories.writing import CONCURRENCY, STEPS_PER_CALL, writer_name, written_file

PROMPT, QUESTION = 400, 60
STEP_INPUT, EVENT, NOTE = 500, 60, 200
CONTROLLER_OUTPUT, CHARACTERS_A_TOKEN = 300, 4
CALL_SECONDS, EMBEDDING_SECONDS = 10.0, 1.0


@dataclass(frozen=True, slots=True)
class Recording:
    """A trajectory as far as it matters for an estimate."""

    states: float
    slugs: tuple[str, ...]
    """The names under which a store has it; none where it was never imported."""


@dataclass(frozen=True, slots=True)
class Haystacks:
    """What a run's questions are asked about."""

    recordings: Sequence[Recording]
    """Each once."""
    state_tokens: float
    """Mean, of a state's text."""
    cache: Path
    """Where memories keep what they prepared."""


@dataclass(frozen=True, slots=True)
class _Pool:
    name: str
    version: str
    tokens: float
    """Of a piece."""

    def pieces(self, recording: Recording) -> float:
        if self.name in (PROCEDURES, HINTS):
            return 1
        return recording.states if self.name == RAW else max(0.0, recording.states - 1)


@dataclass(frozen=True, slots=True)
class _Models:
    """Those that a memory asks and that are set; what is missing is told elsewhere."""

    embedding: EmbeddingConfig | None
    controller: EndpointConfig | None
    writer: EndpointConfig | None

    @classmethod
    def of(cls, memory: str, settings: RetrievalSettings) -> "_Models":
        asked = roles(memory, settings)
        writer = (settings.writer or settings.controller) if "writer" in asked else None
        return cls(
            settings.embedding if "embedding" in asked else None,
            settings.controller if "controller" in asked else None,
            writer.sampled(CONTROLLER_SAMPLING) if writer is not None else None,
        )


def retrieval_stages(
    config: RunConfig, queries: int, haystacks: Haystacks, prices: Prices
) -> tuple[tuple[StageEstimate, ...], float]:
    """The stages, and how many seconds they take one after the other; a cascade asks both its memories."""
    stages: list[StageEstimate] = []
    seconds = 0.0
    for memory in members(config.memory, config.retrieval):
        named = "" if memory == config.memory else f"{memory}, "
        for found, took in _of_memory(config, memory, queries, haystacks, prices):
            stages.append(replace(found, stage=f"{named}{found.stage}"))
            seconds += took
    return tuple(stages), seconds


def _of_memory(
    config: RunConfig, memory: str, queries: int, haystacks: Haystacks, prices: Prices
) -> Iterator[tuple[StageEstimate, float]]:
    settings = config.retrieval
    models = _Models.of(memory, settings)
    controller, embedding = models.controller, models.embedding
    if models.writer is not None:
        yield _writing(models.writer, haystacks, prices)
    if embedding is not None:
        version = writer_name(models.writer) if models.writer is not None else ""
        yield _embedding(embedding, _pools(memory, settings, haystacks, version), haystacks, prices)
    if controller is not None:
        entered = PROMPT + settings.summary_characters // CHARACTERS_A_TOKEN
        usage = Usage(fresh_input=queries * entered, output=queries * CONTROLLER_OUTPUT)
        found = stage_estimate("controller", queries, usage, controller.model, prices)
        yield found, queries * CALL_SECONDS
    if embedding is not None:
        texts = settings.raw_queries + 2 if controller is not None else 1
        usage = Usage(fresh_input=queries * texts * QUESTION, output=0)
        found = stage_estimate("query embedding", queries, usage, embedding.model, prices)
        yield found, queries * EMBEDDING_SECONDS


def _writing(writer: EndpointConfig, haystacks: Haystacks, prices: Prices) -> tuple[StageEstimate, float]:
    """Events and notes of the trajectories that nothing is written about."""
    folder = haystacks.cache / "written" / writer_name(writer)
    missing = [
        one
        for one in haystacks.recordings
        if not any(written_file(folder, slug).exists() for slug in one.slugs)
    ]
    steps = sum(max(0.0, one.states - 1) for one in missing)
    calls = sum(1 + ceil(max(0.0, one.states - 1) / STEPS_PER_CALL) for one in missing)
    usage = Usage(
        fresh_input=round(calls * PROMPT + steps * (STEP_INPUT + EVENT)),
        output=round(steps * EVENT + len(missing) * 2 * NOTE),
    )
    found = stage_estimate("insert side, writer", calls, usage, writer.model, prices)
    return found, calls * CALL_SECONDS / CONCURRENCY


def _embedding(
    embedding: EmbeddingConfig, pools: Sequence[_Pool], haystacks: Haystacks, prices: Prices
) -> tuple[StageEstimate, float]:
    """Pieces of the trajectories that are not embedded."""
    vectors = vectors_folder(embedding, haystacks.cache / "embedded")
    calls, entered = 0, 0.0
    for pool in pools:
        folder = pieces_folder(vectors, pool.name, pool.version, embedding.max_input_tokens)
        texts = sum(
            pool.pieces(one)
            for one in haystacks.recordings
            if not any((folder / slug).exists() for slug in one.slugs)
        )
        calls += ceil(texts / embedding.batch)
        entered += texts * min(embedding.max_input_tokens, pool.tokens)
    usage = Usage(fresh_input=round(entered), output=0)
    found = stage_estimate("insert side, embedding", calls, usage, embedding.model, prices)
    return found, calls * EMBEDDING_SECONDS / embedding.concurrency


def _pools(memory: str, settings: RetrievalSettings, haystacks: Haystacks, writer: str) -> list[_Pool]:
    slices = (2 * settings.radius + 1) * haystacks.state_tokens
    every = {
        RAW: _Pool(RAW, raw_version(settings.radius), slices),
        EVENTS: _Pool(EVENTS, writer, EVENT),
        PROCEDURES: _Pool(PROCEDURES, writer, NOTE),
        HINTS: _Pool(HINTS, writer, NOTE),
    }
    if memory == "agentrunbook-r":
        wanted = {"raw": (RAW,), "events": (EVENTS,), "notes": (PROCEDURES, HINTS)}
        return [every[name] for pool in settings.pools for name in wanted[pool]]
    notes = (PROCEDURES, HINTS) if memory == "rag-slice-notes" else ()
    return [every[name] for name in (*notes, RAW)]
