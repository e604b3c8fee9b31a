"""Whether the gold answer can be seen in a memory's context, with gold and random states to compare with."""

from collections.abc import Mapping, Sequence

from evals.evidence_recall import answer_in_context, random_states
from evals.question import EvalQuestion, Gold
from evals.runs.records import InContext
from manifests.store import Entry
from manifests.views import View
from runbook.evidence import Evidence, Span
from runbook.rendering import render_context


def in_context(
    question: EvalQuestion, text: str, view: View, gold: Gold | None, *, seed: int
) -> InContext | None:
    """The indicator for the returned context, and for gold and random states beside it."""
    own = answer_in_context(question, text)
    if own is None:
        return None
    entries = {entry.id: entry for entry in view.entries.values()}
    gold_spans = None
    if gold is not None and gold.pieces:
        spans = [Span(**piece[0].model_dump()) for piece in gold.pieces]
        gold_spans = answer_in_context(question, _rendered(spans, entries))
    lengths = {entry.id: entry.states for entry in entries.values()}
    drawn = [
        Span(trajectory_id=trajectory, start_state_index=index, end_state_index=index)
        for trajectory, index in random_states(lengths, question_id=question.id, seed=seed)
    ]
    return InContext(
        context=own,
        gold_spans=gold_spans,
        random_states=answer_in_context(question, _rendered(drawn, entries)),
    )


def _rendered(spans: Sequence[Span], entries: Mapping[str, Entry]) -> str:
    """The text a reader would see of these spans alone."""
    return render_context(Evidence(trajectory_spans=tuple(spans)), entries).text
