"""BM25 over slices of states, from the haystack's full-text index.

The index says which fields of a state have a term, not how often; that number of fields stands for the term's
frequency, and a goal counts for every state of its trajectory. Robertson and Zaragoza, The Probabilistic
Relevance Framework: BM25 and Beyond, 2009, with k1 = 1.2 and b = 0.75.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manifests.index_format import FIELDS, LEVELS_PER_DOUBLING, POSTINGS_PER_STATE
from manifests.index_reading import ViewIndex

K1 = 1.2
B = 0.75
_GOAL = FIELDS.index("goal")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """A slice: its trajectory's slug, its middle state, its score, and its share of the best possible."""

    slug: str
    middle: int
    score: float
    share: float


def best_slices(index: ViewIndex, terms: Iterable[int], *, radius: int, most: int) -> list[Scored]:
    """The best slices for the terms with these keys, best first; of equal ones the earlier first."""
    layout = _Layout.of(index, radius)
    scores = np.zeros(layout.states)
    possible = 0.0
    for postings in index.postings(sorted(terms)):
        frequency = layout.in_slices(_fields_with(postings, layout))
        having = int(np.count_nonzero(frequency))
        if not having:
            continue
        rarity = float(np.log(1 + (layout.states - having + 0.5) / (having + 0.5)))
        scores += rarity * frequency * (K1 + 1) / (frequency + layout.damping)
        possible += rarity * (K1 + 1)
    order = np.lexsort((np.arange(layout.states), -scores))[:most]
    return [
        Scored(*layout.place(int(state)), float(scores[state]), float(scores[state] / possible))
        for state in order
        if scores[state] > 0
    ]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How states are numbered through the haystack, and the slice around each."""

    slugs: list[str]
    firsts: NDArray[np.int64]
    """The number of each trajectory's first state; one more at the end."""
    owner: NDArray[np.int64]
    """The number of each state's trajectory."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """The first state of each slice, and the one after its last."""
    damping: Floats
    """k1 times the length norm of each slice."""

    @classmethod
    def of(cls, index: ViewIndex, radius: int) -> "_Layout":
        firsts, states = index.firsts, int(index.firsts[-1])
        owner = np.repeat(np.arange(len(index.slugs)), np.diff(firsts))
        every = np.arange(states)
        low = np.maximum(firsts[owner], every - radius)
        high = np.minimum(firsts[owner + 1], every + radius + 1)
        sizes = np.exp2(index.levels / LEVELS_PER_DOUBLING) - 1
        of_slices = _windows(np.delete(sizes, _GOAL, axis=0).sum(axis=0), low, high)
        norm = 1 - B + B * of_slices / max(float(of_slices.mean()), 1.0)
        return cls(index.slugs, firsts, owner, low, high, K1 * norm)

    @property
    def states(self) -> int:
        return int(self.firsts[-1])

    def in_slices(self, values: Floats) -> Floats:
        return _windows(values, self.low, self.high)

    def place(self, state: int) -> tuple[str, int]:
        trajectory = int(self.owner[state])
        return self.slugs[trajectory], state - int(self.firsts[trajectory])


def _windows(values: Floats, low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    found: Floats = sums[high] - sums[low]
    return found


def _fields_with(postings: NDArray[np.int64], layout: _Layout) -> Floats:
    """How many fields of each state have the term that stands there."""
    of_goal = postings % POSTINGS_PER_STATE == _GOAL
    states = postings // POSTINGS_PER_STATE
    in_states = np.bincount(states[~of_goal], minlength=layout.states)
    in_goals = np.bincount(layout.owner[states[of_goal]], minlength=len(layout.slugs))
    counts: Floats = (in_states + in_goals[layout.owner]).astype(np.float64)
    return counts
