"""What each stage of a question writes. Later stages name the record they were made from.

`k` is the number of the try within its stage, given when the record is written.
"""

from datetime import UTC, datetime
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from evals.evidence_recall import EvidenceRecall
from evals.reading import Reading
from evals.verdict import Verdict
from runbook.memory import QueryResult
from runbook.outcomes import INFRASTRUCTURE_FAILURES, Outcome
from runbook.quantities import Finite, Seconds


def now() -> str:
    """UTC time for a record, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class StageRecord(BaseModel):
    """The part that all stages share."""

    model_config = ConfigDict(extra="forbid")

    stage: ClassVar[str]

    question_id: str
    k: int = Field(default=0, ge=0)
    written_at: str = Field(default_factory=now)


class InContext(BaseModel):
    """Whether the gold answer passes its own matcher on a text; None where it has no phrase matcher."""

    model_config = ConfigDict(extra="forbid")

    context: bool | None
    gold_spans: bool | None
    random_states: bool | None


class QueryRecord(StageRecord):
    """The memory's answer to a question, and how it compares with the gold evidence, if there is any."""

    stage: ClassVar[str] = "query"

    repeat: int = Field(default=0, ge=0)
    """Which of the agent's repeats this is."""
    haystack_digest: str
    view_seconds: Seconds
    """Time to have the haystack view and index ready; insert side, not on the clock."""
    manifest_seconds: Seconds | None = None
    """What making the view's manifests took: within `view_seconds`, or before, where the view was there."""
    load_per_cpu: Finite | None = None
    """Load average per processor, the higher of those at the query's start and end."""
    result: QueryResult
    forced: bool = False
    """True where a method failure was thrown away for this try; such a run is not exported."""
    evidence_recall: EvidenceRecall | None = None
    """None where the data root has no gold for the question."""
    answer_in_context: InContext | None = None

    @property
    def outcome(self) -> Outcome:
        return self.result.outcome


class ReadingRecord(StageRecord):
    """The reader's response to one memory context."""

    stage: ClassVar[str] = "reading"

    query_k: int
    repeat: int = Field(default=0, ge=0)
    """Which of the readings of that context this is."""
    revision: int = Field(default=0, ge=0)
    """The run's revision under which it was made."""
    outcome: Outcome
    detail: str = ""
    reading: Reading | None = None


class VerdictRecord(StageRecord):
    """The score of one response."""

    stage: ClassVar[str] = "verdict"

    reading_k: int
    repeat: int = Field(default=0, ge=0)
    """Which of the verdicts on that response this is."""
    revision: int = Field(default=0, ge=0)
    outcome: Outcome
    detail: str = ""
    verdict: Verdict | None = None


def is_scoreless(outcome: Outcome) -> bool:
    """True where an outcome is nobody's answer, so that the stage has to be done again."""
    return outcome in INFRASTRUCTURE_FAILURES
