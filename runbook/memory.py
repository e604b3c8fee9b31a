"""The protocol of everything that answers "what in this haystack matters for this question?"."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from manifests.views import View
from runbook.context import MemoryContext
from runbook.evidence import Evidence
from runbook.gateway.records import WireFacts
from runbook.outcomes import Outcome
from runbook.quantities import Count, Finite, Seconds, Usd
from runbook.question import Question


class AttemptRecord(BaseModel):
    """What is known of one attempt: the content of its `attempt.json`."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(ge=1)
    outcome: Outcome
    detail: str = ""
    """Why, in one sentence, where the outcome alone does not say it."""
    flags: list[str] = []
    """What also happened on the way to a valid result: deadline, oom_child, grace, submitted."""
    agent: str
    agent_version: str = ""
    sandbox: str
    started_at: str
    """UTC, ISO 8601."""
    seconds: Seconds
    """Wall time of the attempt up to its validated evidence."""
    timings: dict[str, Finite] = {}
    """Seconds by phase: workspace, start, agent, collect, validate; of the agent's: model, rate_limit."""
    seed: int | None = None
    """What the agent was given for its chance: the question's seed, counted on with each attempt."""
    exit_code: int | None = None
    repairs: list[str] = []
    unknown_ids: list[str] = []
    extra: dict[str, object] = {}
    """Keys of the evidence file that the contract does not know, kept raw."""
    evidence_sha256: str | None = None
    output_bytes: dict[str, int] = {}
    dropped_bytes: dict[str, int] = {}
    memory_peak_bytes: int | None = None
    wire: WireFacts | None = None
    """What the gateway saw; None where the agent spoke to no model through it."""
    notes: list[str] = []


class Retrieved(BaseModel):
    """A piece of the context that was found by searching."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pool: str
    """Which collection it comes from: raw, events, notes."""
    query: str
    """What found it."""
    score: Finite
    trajectory_id: str
    start_state_index: int
    end_state_index: int


class InsertCost(BaseModel):
    """What preparing a haystack took; insert side, so neither on the clock nor among the query's tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: Seconds = 0.0
    embedded_texts: Count = 0
    embedding_calls: Count = 0
    embedding_tokens: Count | None = 0
    """None where the provider did not say; also below."""
    written_trajectories: Count = 0
    """For which events and notes were written."""
    writing_calls: Count = 0
    writing_tokens: Count | None = 0
    repaired_replies: Count = 0
    fallbacks: Count = 0
    """Replies that no repair made usable, so that a plain text stands in their place."""
    cost_usd: Usd | None = None
    """Of all calls; None where the price of any is unknown."""


class QueryResult(BaseModel):
    """What a memory returns for one question.

    `seconds` is the official latency: wall time from the question in hand (view and index ready) to the
    context returned, failed attempts included. Of a package's memory it is measured around `query`; its own
    figures are only told beside it, but what its `timings` call `reused` (what calls took whose answers it
    kept from earlier) is added. Its context is rendered from its evidence, which is held to the budget.
    """

    model_config = ConfigDict(extra="forbid")

    outcome: Outcome
    seconds: Seconds = 0.0
    timings: dict[str, Finite] = {}
    attempts: list[AttemptRecord] = []
    evidence: Evidence | None = None
    context: MemoryContext = MemoryContext()
    retrieved: list[Retrieved] = []
    """Where a searching memory found its pieces, in the order of the context."""
    confidence: Finite | None = None
    """How sure a searching memory is, 0..1; only comparable within one memory."""
    insert_cost: InsertCost | None = None
    """Of the haystack, with the first query after it was prepared."""


@dataclass(frozen=True, slots=True)
class QueryTask:
    """One question to one haystack, and where what happens is recorded."""

    question: Question
    haystack: View
    folder: Path
    """Attempts are written to `folder/<n>/`; numbers already there are never reused."""
    cancel: threading.Event
    labels: dict[str, str]
    """Host-side marks of the sandbox (run, question); never visible inside."""
    repeat: int = 0
    """Which asking of the same question this is; a memory that draws by chance draws anew for each."""
    seed: int | None = None
    """Of an agent's chance, 0..2**31 - 1; another for each repeat. None where nobody gave one."""


class Memory(Protocol):
    """A memory system. Both methods are thread-safe; one object serves all questions of a run."""

    @property
    def name(self) -> str: ...

    def insert(self, haystack: View) -> None:
        """Do the insert-side work for a haystack: idempotent, cached, off the clock."""
        ...

    def query(self, task: QueryTask) -> QueryResult:
        """Answer one question. A memory's own failures are outcomes, not exceptions."""
        ...
