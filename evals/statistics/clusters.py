"""Which questions stand or fall together: those whose gold evidence lies in the same trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evals.question import Gold

FEW = 10
"""With fewer clusters than this, an interval says little, and a report says so."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """A cluster number, 0..count-1, for each question, in the order in which they were given."""

    labels: NDArray[np.int64]
    count: int
    by_gold: bool
    """False where no question has gold evidence, so that each is a cluster of its own."""

    @property
    def few(self) -> bool:
        """Whether there are too few to trust an interval."""
        return self.count < FEW

    def among(self, chosen: NDArray[np.bool_]) -> "Clusters":
        """Those of some of the questions, numbered anew."""
        kept, labels = np.unique(self.labels[chosen], return_inverse=True)
        return Clusters(labels.astype(np.int64), len(kept), self.by_gold)


def clusters_of(question_ids: Sequence[str], gold: Mapping[str, Gold] | None) -> Clusters:
    """The connected components of the graph whose edges are shared gold-evidence trajectories.

    A question without gold evidence is a cluster of its own.
    """
    parents = list(range(len(question_ids)))
    first_with: dict[str, int] = {}
    by_gold = False
    for index, question_id in enumerate(question_ids):
        for trajectory in _trajectories((gold or {}).get(question_id)):
            by_gold = True
            _join(parents, index, first_with.setdefault(trajectory, index))
    numbers: dict[int, int] = {}
    labels = [numbers.setdefault(_root(parents, index), len(numbers)) for index in range(len(parents))]
    return Clusters(np.array(labels, dtype=np.int64), len(numbers), by_gold)


def _trajectories(gold: Gold | None) -> set[str]:
    return {span.trajectory_id for piece in gold.pieces for span in piece} if gold else set()


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _join(parents: list[int], one: int, other: int) -> None:
    parents[_root(parents, one)] = _root(parents, other)
