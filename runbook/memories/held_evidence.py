"""Evidence of a package's memory, held to the haystack and the budget as an agent's file is."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from runbook.context import ImageItem, MemoryContext
from runbook.evidence import (
    MAX_BYTES,
    Evidence,
    InvalidEvidence,
    KnownTrajectories,
    Refusal,
    Span,
    parse_evidence,
)


@dataclass(frozen=True, slots=True)
class HeldEvidence:
    """What can be used, and what was done to get there; None is nothing at all."""

    evidence: Evidence | None
    repairs: Sequence[str] = ()
    unknown_ids: Sequence[str] = ()


def held_evidence(
    given: Evidence | None, context: MemoryContext, known: KnownTrajectories, budget: int
) -> HeldEvidence:
    """The evidence, repaired where it does not fit; without any, the texts of the context are its note.

    Raises:
        InvalidEvidence: nothing in it can be used, or it is too large.
    """
    if given is None and context.items:
        pictures = sum(isinstance(item, ImageItem) for item in context.items)
        repairs = ["context: its texts taken for evidence, of which there was none"]
        if pictures:
            repairs.append(f"context: {pictures} pictures left out, which no span of evidence names")
        found = _fitted(Evidence(memory_markdown=context.text), known, budget)
        return HeldEvidence(found.evidence, [*repairs, *found.repairs], found.unknown_ids)
    return _fitted(given or Evidence(), known, budget)


def _fitted(given: Evidence, known: KnownTrajectories, budget: int) -> HeldEvidence:
    if given.is_empty:
        return HeldEvidence(None)
    data = orjson.dumps(given.model_dump(mode="json"))
    if len(data) > MAX_BYTES:
        raise InvalidEvidence(
            Refusal.TOO_LARGE, f"its evidence has {len(data):,} bytes, at most {MAX_BYTES:,} may be"
        )
    if given.distinct_states <= budget and all(_exists(span, known) for span in given.trajectory_spans):
        return HeldEvidence(given)
    read = parse_evidence(data, known, budget=budget)
    evidence = None if read.evidence.is_empty else read.evidence
    return HeldEvidence(evidence, read.repairs, read.unknown_ids)


def _exists(span: Span, known: KnownTrajectories) -> bool:
    """Whether a span is one of the haystack's, by its original id."""
    found = known.exact(span.trajectory_id)
    return found is not None and found.id == span.trajectory_id and span.end_state_index < found.states
