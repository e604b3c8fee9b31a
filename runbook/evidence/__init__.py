"""Evidence: a note and a list of state spans within a budget, read from what an agent wrote.

Strict on meaning, lenient on form; every repair is recorded, every refusal typed.
"""

from runbook.evidence.known import Known, KnownTrajectories
from runbook.evidence.model import (
    STATE_BUDGET,
    Evidence,
    EvidenceStatus,
    InvalidEvidence,
    ReadEvidence,
    Refusal,
    Span,
    evidence_schema,
)
from runbook.evidence.reading import MAX_BYTES, parse_evidence, read_evidence

__all__ = [
    "MAX_BYTES",
    "STATE_BUDGET",
    "Evidence",
    "EvidenceStatus",
    "InvalidEvidence",
    "Known",
    "KnownTrajectories",
    "ReadEvidence",
    "Refusal",
    "Span",
    "evidence_schema",
    "parse_evidence",
    "read_evidence",
]
