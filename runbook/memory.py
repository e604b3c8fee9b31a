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
    seconds: float
    """Wall time of the attempt up to its validated evidence."""
    timings: dict[str, float] = {}
    """Seconds by phase: workspace, start, agent, collect, validate; of the agent's: model, rate_limit."""
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


class QueryResult(BaseModel):
    """What a memory returns for one question.

    `seconds` is the official latency: wall time from the question in hand (view and index ready) to the
    context returned, failed attempts included.
    """

    model_config = ConfigDict(extra="forbid")

    outcome: Outcome
    seconds: float
    timings: dict[str, float] = {}
    attempts: list[AttemptRecord] = []
    evidence: Evidence | None = None
    context: MemoryContext = MemoryContext()


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
