"""From an evidence file that nobody vouches for to valid evidence."""

import hashlib
from pathlib import Path
from typing import Any

import orjson

from runbook.evidence.known import KnownTrajectories
from runbook.evidence.model import STATE_BUDGET, Evidence, InvalidEvidence, ReadEvidence, Refusal
from runbook.evidence.repair import Repair
from runbook.evidence.text import NoObject, NotUtf8, find_object
from runbook.untrusted_files import Fault, UnreadableFile, read_untrusted

MAX_BYTES = 1024 * 1024
_MAX_EXTRA_KEYS = 32
_MAX_EXTRA_BYTES = 8192
_REFUSALS = {
    Fault.MISSING: Refusal.MISSING,
    Fault.NOT_REGULAR: Refusal.NOT_REGULAR,
    Fault.TOO_LARGE: Refusal.TOO_LARGE,
    Fault.UNREADABLE: Refusal.UNREADABLE,
}


def read_evidence(
    path: Path, known: KnownTrajectories, *, budget: int = STATE_BUDGET, below: Path | None = None
) -> ReadEvidence:
    """Read, repair and validate an evidence file.

    Args:
        path: the file; it, and the folders between it and `below` (default: its own folder), may be hostile.
        known: the trajectories of the question's haystack.
        budget: the largest number of distinct states.

    Raises:
        InvalidEvidence: no evidence can be read from it.
    """
    try:
        data = read_untrusted(path, MAX_BYTES, below=below)
    except UnreadableFile as error:
        raise InvalidEvidence(_REFUSALS[error.fault], str(error)) from error
    return parse_evidence(data, known, budget=budget)


def parse_evidence(data: bytes, known: KnownTrajectories, *, budget: int = STATE_BUDGET) -> ReadEvidence:
    """Repair and validate the bytes of an evidence file. Raises InvalidEvidence."""
    try:
        found = find_object(data, Evidence.model_fields.keys())
    except NotUtf8 as error:
        raise InvalidEvidence(Refusal.NOT_UTF8, str(error)) from error
    except NoObject as error:
        raise InvalidEvidence(Refusal.NO_OBJECT, str(error)) from error
    repair = Repair(known, found.repairs)
    evidence = Evidence(
        memory_markdown=repair.markdown(found.value.get("memory_markdown", "")),
        trajectory_spans=repair.spans(found.value.get("trajectory_spans", []), budget),
        evidence_status=repair.status(found.value.get("evidence_status")),
    )
    if evidence.is_empty and repair.dropped:
        raise InvalidEvidence(
            Refusal.NOTHING_VALID,
            f"nothing in it can be used: {repair.dropped[0]}",
            repairs=repair.repairs,
            unknown_ids=repair.unknown_ids,
        )
    return ReadEvidence(
        evidence=evidence,
        sha256=hashlib.sha256(data).hexdigest(),
        repairs=repair.repairs,
        unknown_ids=repair.unknown_ids,
        extra=_bounded_extra(found.value),
    )


def _bounded_extra(value: dict[str, Any]) -> dict[str, Any]:
    keys = [key for key in value if key not in Evidence.model_fields][:_MAX_EXTRA_KEYS]
    return {key.encode("utf-8", "replace").decode()[:200]: _bounded(value[key]) for key in keys}


def _bounded(value: Any) -> Any:
    """The value itself where it can be stored and is small; else a word on why it is not kept."""
    try:
        size = len(orjson.dumps(value))
    except (orjson.JSONEncodeError, RecursionError):
        return "(not kept: cannot be stored)"
    return value if size <= _MAX_EXTRA_BYTES else f"(not kept: {size:,} bytes)"
