"""Spans of states: windows around one, and what fits a budget."""

from collections.abc import Iterable, Sequence

from manifests.store import Entry
from runbook.evidence import Span


def window(entry: Entry, middle: int, radius: int) -> Span:
    """The states around one, as far as the trajectory goes."""
    return Span(
        trajectory_id=entry.id,
        start_state_index=max(0, middle - radius),
        end_state_index=min(entry.states - 1, middle + radius),
    )


def states(places: Iterable[tuple[str, int]]) -> list[Span]:
    """One span per place; neighbours that follow each other are joined."""
    spans: list[Span] = []
    for trajectory, index in places:
        last = spans[-1] if spans else None
        if last and last.trajectory_id == trajectory and last.end_state_index + 1 == index:
            spans[-1] = last.model_copy(update={"end_state_index": index})
        else:
            spans.append(Span(trajectory_id=trajectory, start_state_index=index, end_state_index=index))
    return spans


def within_budget(spans: Sequence[Span], budget: int) -> tuple[Span, ...]:
    """The spans from the first on, up to `budget` distinct states; the one on the edge is cut at its end."""
    kept: list[Span] = []
    shown: set[tuple[str, int]] = set()
    for span in spans:
        end = span.start_state_index - 1
        for index in span.states:
            if (span.trajectory_id, index) not in shown and len(shown) == budget:
                break
            shown.add((span.trajectory_id, index))
            end = index
        if end >= span.start_state_index:
            kept.append(span.model_copy(update={"end_state_index": end}))
    return tuple(kept)
