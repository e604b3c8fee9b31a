"""Whether a data set tells by position where its answers are: `first` against `random` states."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.recorded import RecordedRun
from evals.runs.records import QueryRecord
from evals.statistics.paired import mcnemar

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class LeakCheck:
    """How often only the first states, and only random ones, have what the question needs."""

    measure: str
    questions: int
    only_first: int
    only_random: int
    p: float

    @property
    def leaks(self) -> bool:
        """Whether `first` beats `random` by more than chance."""
        return self.only_first > self.only_random and self.p < LEVEL

    def __str__(self) -> str:
        counts = (
            f"by {self.measure.replace('_', ' ')} only the first states have {self.only_first} of "
            f"{self.questions} questions, only random ones {self.only_random} (p = {self.p:.3f})"
        )
        if self.leaks:
            return f"POSITION LEAK: the haystack's order tells where answers are: {counts}"
        return f"no position leak: {counts}"


def leak_within(queries: Sequence[QueryRecord]) -> LeakCheck | None:
    """From a run of `first` alone: answers in its contexts against those in random states; None without."""
    found = [query.answer_in_context for query in queries if query.answer_in_context]
    pairs = [(one.context, one.random_states) for one in found if one.context is not None]
    return _check("answer_in_context", [(bool(first), bool(drawn)) for first, drawn in pairs])


def leak_between(first: RecordedRun, drawn: RecordedRun) -> LeakCheck | None:
    """From runs of `first` and `random`: whole evidence found, else answers in context; None without any."""
    one, other = first.answered(), drawn.answered()
    common = [(one[name].query, other[name].query) for name in one if name in other]
    both = [(left, right) for left, right in common if left is not None and right is not None]
    hits = [
        (bool(left.evidence_recall.all_pieces_hit), bool(right.evidence_recall.all_pieces_hit))
        for left, right in both
        if left.evidence_recall
        and right.evidence_recall
        and left.evidence_recall.all_pieces_hit is not None
        and right.evidence_recall.all_pieces_hit is not None
    ]
    if hits:
        return _check("all_pieces_hit", hits)
    answers = [
        (bool(left.answer_in_context.context), bool(right.answer_in_context.context))
        for left, right in both
        if left.answer_in_context and right.answer_in_context
    ]
    return _check("answer_in_context", answers)


def _check(measure: str, pairs: Sequence[tuple[bool, bool]]) -> LeakCheck | None:
    if not pairs:
        return None
    only_first = sum(first and not drawn for first, drawn in pairs)
    only_random = sum(drawn and not first for first, drawn in pairs)
    return LeakCheck(measure, len(pairs), only_first, only_random, mcnemar(only_first, only_random))
