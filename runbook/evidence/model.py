"""The evidence contract as types; the JSON Schema that agents see is generated from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

STATE_BUDGET = 20


class EvidenceStatus(StrEnum):
    """What the evidence says about the question."""

    SUPPORTED = "supported"
    CONTRADICTS_PREMISE = "contradicts_premise"
    NEAR_MATCH_ONLY = "near_match_only"
    INSUFFICIENT = "insufficient"


class Span(BaseModel):
    """Consecutive states of one trajectory, both ends included, counted from 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectory_id: str = Field(min_length=1)
    start_state_index: int = Field(ge=0)
    end_state_index: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.start_state_index > self.end_state_index:
            raise ValueError("start_state_index is after end_state_index")
        return self

    @property
    def states(self) -> range:
        return range(self.start_state_index, self.end_state_index + 1)


class Evidence(BaseModel):
    """What a memory found: a note, and the spans that prove it, most important first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_markdown: str = Field(default="", description="The note for the reader, in Markdown.")
    trajectory_spans: tuple[Span, ...] = Field(
        default=(), description=f"Most important first; at most {STATE_BUDGET} distinct states in all."
    )
    evidence_status: EvidenceStatus | None = None

    @property
    def is_empty(self) -> bool:
        return not self.memory_markdown.strip() and not self.trajectory_spans

    @property
    def distinct_states(self) -> int:
        return len({(span.trajectory_id, i) for span in self.trajectory_spans for i in span.states})


def evidence_schema() -> dict[str, Any]:
    """JSON Schema of the file an agent hands in."""
    return Evidence.model_json_schema()


class Refusal(StrEnum):
    """Why a file is no evidence."""

    MISSING = "missing"
    NOT_REGULAR = "not_regular"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    NOT_UTF8 = "not_utf8"
    NO_OBJECT = "no_object"
    NOTHING_VALID = "nothing_valid"  # spans or text were given, and none of it can be used


class InvalidEvidence(Exception):  # noqa: N818 - named after the outcome
    """The file is refused; `reason` is one line, `repairs` and `unknown_ids` say what was tried."""

    def __init__(
        self, refusal: Refusal, reason: str, *, repairs: Sequence[str] = (), unknown_ids: Sequence[str] = ()
    ) -> None:
        super().__init__(reason)
        self.refusal = refusal
        self.reason = reason
        self.repairs = list(repairs)
        self.unknown_ids = list(unknown_ids)


@dataclass(frozen=True, slots=True)
class ReadEvidence:
    """Valid evidence and how it was come by; `evidence.is_empty` tells empty_valid from ok."""

    evidence: Evidence
    sha256: str  # of the file's bytes
    repairs: list[str] = field(default_factory=list)
    unknown_ids: list[str] = field(default_factory=list)  # named, but no trajectory's; ambiguous prefixes too
    extra: dict[str, Any] = field(default_factory=dict)  # keys outside the contract, as written, bounded
