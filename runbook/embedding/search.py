"""Exact search among vectors: one matrix product, then the best few.

A haystack's rows lie scattered among those of other haystacks. They are packed side by side once, off the
clock: products over many short pieces cost a multiple of one product over all of them.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_AT_ONCE = 1024  # rows copied at a time


@dataclass(frozen=True, slots=True)
class Hit:
    """A row's place, and its score: the cosine, -1..1."""

    place: int
    score: float


class RowSearch:
    """Searches the rows of `matrix` (rows x dimensions, float32, each of length 1)."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._matrix)

    def best(self, queries: Vectors, most: int) -> list[list[Hit]]:
        """For each query (queries x dimensions) the `most` best rows, best first; of equals the earlier."""
        if not len(self._matrix):
            return [[] for _ in queries]
        scores = np.asarray(self._matrix @ np.ascontiguousarray(queries.T))
        return [_best(column, most) for column in scores.T]


def packed(matrix: Vectors, rows: Sequence[int] | NDArray[np.int64], folder: Path) -> Vectors:
    """Some rows of a matrix side by side, mapped from a file in `folder` that goes when the result does.

    Where they lie side by side already, nothing is copied. Raises OSError where there is no room.
    """
    chosen = np.asarray(rows, dtype=np.int64)
    if not len(chosen) or np.all(np.diff(chosen) == 1):
        return matrix[chosen[0] : chosen[-1] + 1] if len(chosen) else matrix[:0]
    with tempfile.TemporaryFile(dir=folder) as file:
        found = np.memmap(file, dtype="<f4", mode="w+", shape=(len(chosen), matrix.shape[1]))
    for start in range(0, len(chosen), _AT_ONCE):
        found[start : start + _AT_ONCE] = matrix[chosen[start : start + _AT_ONCE]]
    return found


def _best(scores: Vectors, most: int) -> list[Hit]:
    if most < len(scores):
        least = np.partition(scores, len(scores) - most)[len(scores) - most]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = places[np.lexsort((places, -scores[places]))][:most]
    return [Hit(int(place), float(scores[place])) for place in order]
