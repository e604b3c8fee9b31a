"""From chosen pieces to what a reader sees: notes first, then events, then slices of states."""

from collections.abc import Mapping, Sequence

from manifests.store import Entry
from manifests.views import View
from runbook.evidence import Span
from runbook.memories.answering import Found
from runbook.memories.merging import Choice
from runbook.memories.pools import EVENTS, HINTS, PROCEDURES, RAW, PreparedPool
from runbook.memory import Retrieved

_HEADINGS = {
    PROCEDURES: "# How things were done here",
    HINTS: "# What is easily missed here",
    EVENTS: "# What happened",
}
_RECORDED_AS = {RAW: "raw", EVENTS: "events", PROCEDURES: "notes", HINTS: "notes"}


def context_of(haystack: View, ready: Mapping[str, PreparedPool], choices: Sequence[Choice]) -> Found:
    """What the chosen pieces make; the order within a pool is that of `choices`.

    Raises OSError where a text is gone.
    """
    by_id = {entry.id: entry for entry in haystack.entries.values()}
    spans = tuple(ready[one.pool].spans[one.place] for one in choices if one.pool == RAW)
    sections = []
    for pool, heading in _HEADINGS.items():
        lines = [
            _line(by_id, ready[pool], ready[pool].spans[one.place]) for one in choices if one.pool == pool
        ]
        if lines:
            sections.append("\n".join([heading, "", *lines]))
    ordered = [one for pool in (*_HEADINGS, RAW) for one in choices if one.pool == pool]
    return Found(
        spans=spans,
        markdown="\n\n".join(sections),
        retrieved=tuple(retrieved(one, ready[one.pool].spans[one.place]) for one in ordered),
        confidence=confidence([one.score for one in choices if one.pool == RAW]),
    )


def retrieved(choice: Choice, span: Span) -> Retrieved:
    """A choice as it is recorded."""
    return Retrieved(
        pool=_RECORDED_AS.get(choice.pool, choice.pool),
        query=choice.query,
        score=choice.score,
        **span.model_dump(),
    )


def confidence(scores: Sequence[float]) -> float | None:
    """The best score within 0..1; None where nothing was scored."""
    return min(1.0, max(0.0, *scores)) if scores else None


def _line(by_id: Mapping[str, Entry], prepared: PreparedPool, span: Span) -> str:
    entry = by_id[span.trajectory_id]
    place = list(prepared.pool.spans(entry)).index(span)
    text = " ".join(list(prepared.pool.texts(entry))[place].split())
    first, last = span.start_state_index, span.end_state_index
    return f"- (trajectory {entry.id}, states {first}-{last}) {text}"
