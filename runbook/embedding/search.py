"""Exact search among some rows of a matrix of vectors, without copying them.

A haystack's rows lie in the cache in a few runs of neighbours, because they were embedded together. One
matrix product per run costs about what the product over all of them would.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]

_GATHERED = 4096  # rows copied at a time where they do not lie side by side
_SHORT_RUN = 4.0  # rows; with runs shorter than this on average, copying is faster


@dataclass(frozen=True, slots=True)
class Hit:
    """A row's place in the list of rows, and its score: the cosine, -1..1."""

    place: int
    score: float


class RowSearch:
    """Searches the rows `rows` of `matrix` (rows x dimensions, float32, each of length 1)."""

    def __init__(self, matrix: Vectors, rows: Sequence[int] | Rows) -> None:
        self._matrix = matrix
        self._rows = np.asarray(rows, dtype=np.int64)
        breaks = np.flatnonzero(np.diff(self._rows) != 1) + 1
        self._starts = np.concatenate([[0], breaks]).astype(np.int64)
        self._ends = np.concatenate([breaks, [len(self._rows)]]).astype(np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def scores(self, queries: Vectors) -> Vectors:
        """The scores of all rows (rows x queries) for some queries (queries x dimensions)."""
        asked = np.ascontiguousarray(queries.T)
        found = np.empty((len(self._rows), asked.shape[1]), dtype=np.float32)
        if len(self._rows) < _SHORT_RUN * len(self._starts):
            for start in range(0, len(self._rows), _GATHERED):
                part = self._rows[start : start + _GATHERED]
                np.matmul(self._matrix[part], asked, out=found[start : start + len(part)])
            return found
        for start, end in zip(self._starts.tolist(), self._ends.tolist(), strict=True):
            first = int(self._rows[start])
            np.matmul(self._matrix[first : first + end - start], asked, out=found[start:end])
        return found

    def best(self, queries: Vectors, most: int) -> list[list[Hit]]:
        """For each query the `most` best rows, best first; of equal ones the earlier row first."""
        if not len(self._rows):
            return [[] for _ in queries]
        return [_best(column, most) for column in self.scores(queries).T]


def _best(scores: Vectors, most: int) -> list[Hit]:
    if most < len(scores):
        least = np.partition(scores, len(scores) - most)[len(scores) - most]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = places[np.lexsort((places, -scores[places]))][:most]
    return [Hit(int(place), float(scores[place])) for place in order]
