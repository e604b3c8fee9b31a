"""Whether a data set tells by position where its answers are: `first` against `random` states."""

from collections.abc import Iterable
from dataclasses import dataclass

from evals.recorded import RecordedRun
from evals.runs.records import QueryRecord
from evals.runs.results import QuestionResult
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


def leak_within(results: Iterable[QuestionResult]) -> LeakCheck | None:
    """From a run of `first` alone: answers in its contexts against those in random states; None without."""
    answers = [one.answers[0].answer_in_context for one in results if one.answers]
    return _check("answer_in_context", [(one.context, one.random_states) for one in answers if one])


def leak_between(first: RecordedRun, drawn: RecordedRun) -> LeakCheck | None:
    """From runs of `first` and `random`: whole evidence found, else answers in context; None without any."""
    one, other = first.answered(), drawn.answered()
    # Repeats of `first` are all the same, and McNemar's test is of one draw a question.
    common = [(one[name].answers[0], other[name].answers[0]) for name in one if name in other]
    hits = _check("all_pieces_hit", [(_all_hit(left), _all_hit(right)) for left, right in common])
    return hits or _check(
        "answer_in_context", [(_in_context(left), _in_context(right)) for left, right in common]
    )


def _all_hit(query: QueryRecord) -> bool | None:
    return query.evidence_recall.all_pieces_hit if query.evidence_recall else None


def _in_context(query: QueryRecord) -> bool | None:
    return query.answer_in_context.context if query.answer_in_context else None


def _check(measure: str, found: Iterable[tuple[bool | None, bool | None]]) -> LeakCheck | None:
    """Over the questions where both can be told."""
    pairs = [(one, other) for one, other in found if one is not None and other is not None]
    if not pairs:
        return None
    only_first = sum(first and not drawn for first, drawn in pairs)
    only_random = sum(drawn and not first for first, drawn in pairs)
    return LeakCheck(measure, len(pairs), only_first, only_random, mcnemar(only_first, only_random))
