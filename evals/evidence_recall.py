"""What can be said about a memory without a model: evidence recall, and `answer_in_context`.

A piece of gold is *hit* where the returned states share at least one state with one of its spans, and
*strict* where they contain all states of one of its spans. A question scores the share of its pieces; a run's
figure is the mean of that over questions, so that a piece of a question with few pieces weighs more.

`answer_in_context` is an indicator, not a bound: a text can hold the gold phrases by chance, and a reader can
still miss them. It is printed beside the same figure for the gold spans and for random states.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from evals.question import EvalQuestion, Gold, GoldSpan
from evals.scoring.eval_function import PHRASE_MATCHERS, parse_eval_function
from evals.scoring.evaluate import matcher
from runbook.quantities import Count, Share

RANDOM_STATES = 20


class StateSpan(Protocol):
    """States of one trajectory, by original id; both ends count, from 0."""

    @property
    def trajectory_id(self) -> str: ...
    @property
    def start_state_index(self) -> int: ...
    @property
    def end_state_index(self) -> int: ...


@dataclass(frozen=True, slots=True)
class EvidenceRecall:
    """One question's figures; shares are 0..1 and None where its gold has no pieces."""

    pieces: Count
    hit: Share | None
    all_pieces_hit: bool | None
    strict: Share | None
    states: Count
    """Distinct states returned."""


@dataclass(frozen=True, slots=True)
class EvidenceSummary:
    """Means over the questions whose gold has pieces; None where there is no such question."""

    questions: int
    hit: float | None
    all_pieces_hit: float | None
    strict: float | None
    states_per_question: float | None


def states_of(spans: Iterable[StateSpan]) -> set[tuple[str, int]]:
    """The distinct (trajectory id, state index) pairs of some spans."""
    return {
        (span.trajectory_id, index)
        for span in spans
        for index in range(span.start_state_index, span.end_state_index + 1)
    }


def evidence_recall(returned: Iterable[StateSpan], gold: Gold) -> EvidenceRecall:
    """Compare the returned spans with a question's gold."""
    states = states_of(returned)
    if not gold.pieces:
        return EvidenceRecall(pieces=0, hit=None, all_pieces_hit=None, strict=None, states=len(states))
    hits = [any(_shared(span, states) > 0 for span in piece) for piece in gold.pieces]
    contained = [any(_shared(span, states) == span.states for span in piece) for piece in gold.pieces]
    return EvidenceRecall(
        pieces=len(gold.pieces),
        hit=fmean(hits),
        all_pieces_hit=all(hits),
        strict=fmean(contained),
        states=len(states),
    )


def _shared(span: GoldSpan, states: set[tuple[str, int]]) -> int:
    # Counted over the returned states, because a gold span may claim any length.
    return sum(
        trajectory == span.trajectory_id and span.start_state_index <= index <= span.end_state_index
        for trajectory, index in states
    )


def summarize_recall(recalls: Iterable[EvidenceRecall]) -> EvidenceSummary:
    """Means over questions; those without pieces are left out."""
    counted = [recall for recall in recalls if recall.pieces]
    return EvidenceSummary(
        questions=len(counted),
        hit=_mean([recall.hit for recall in counted if recall.hit is not None]),
        all_pieces_hit=_mean([float(bool(recall.all_pieces_hit)) for recall in counted]),
        strict=_mean([recall.strict for recall in counted if recall.strict is not None]),
        states_per_question=_mean([recall.states for recall in counted]),
    )


@dataclass(frozen=True, slots=True)
class AnswerInContext:
    """`share` = `passed` / `n`; None where no question counts."""

    share: float | None
    passed: int
    n: int


def answer_in_context(question: EvalQuestion, text: str) -> bool | None:
    """Whether the gold passes the question's own phrase matcher on the text; None for other evaluators."""
    function = parse_eval_function(question.eval_function)
    if function.name not in PHRASE_MATCHERS:
        return None
    return matcher(function)(text, question.answer)


def summarize_answers(found: Sequence[bool | None]) -> AnswerInContext:
    """The share of questions whose answer was found; those where it cannot be told (None) are left out."""
    told = [one for one in found if one is not None]
    return AnswerInContext(share=sum(told) / len(told) if told else None, passed=sum(told), n=len(told))


def random_states(
    lengths: Mapping[str, int], *, question_id: str, seed: int = 0, count: int = RANDOM_STATES
) -> list[tuple[str, int]]:
    """`count` distinct states of a haystack, each equally likely: the floor of `answer_in_context`.

    `lengths` maps each trajectory id to its number of states; its order does not matter.
    The same haystack, question and seed give the same states, in any process.
    """
    states = [(trajectory, index) for trajectory in sorted(lengths) for index in range(lengths[trajectory])]
    chosen = random.Random(f"{seed}/{question_id}")
    return chosen.sample(states, min(count, len(states)))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
