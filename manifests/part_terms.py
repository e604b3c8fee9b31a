"""The terms of one part of a search index, looked up in its bytes."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .index_format import NUMBERS, Counts
from .line_tables import Keys

Numbers: TypeAlias = NDArray[np.int64]


class PartTerms:
    """Where the terms of a trajectory stand; nothing is copied before it is asked for."""

    def __init__(self, content: bytes, start: int, counts: Counts) -> None:
        """Of a part, or its beginning up to the lines, whose head ends at `start`.

        Raises ValueError where it is cut off.
        """
        self._firsts = np.frombuffer(content, NUMBERS, counts.terms, start)
        start += self._firsts.nbytes
        self._starts = np.frombuffer(content, counts.start_type(), counts.terms + 1, start)
        start += self._starts.nbytes
        self._entries = np.frombuffer(content, counts.entry_type(), counts.terms + counts.postings, start)

    def keys(self) -> Keys:
        """The key of each term, ascending."""
        lasts: Keys = self._entries[self._starts[:-1]].astype(np.uint64)
        return self._firsts.astype(np.uint64) << np.uint64(16) | lasts

    def counts(self) -> Numbers:
        """How many postings each term has."""
        starts = self._starts.astype(np.int64)
        return starts[1:] - starts[:-1] - 1

    def maybe(self, wanted: NDArray[np.uint32]) -> Iterable[tuple[int, int]]:
        """Which of these first 32 bits of keys there are, and where first."""
        if not len(self._firsts):
            return ()
        places = np.searchsorted(self._firsts, wanted)
        there = np.flatnonzero(self._firsts.take(places, mode="clip") == wanted)
        return zip(there.tolist(), places[there].tolist(), strict=True)

    def of(self, key: int, place: int) -> Iterator[Numbers]:
        """The postings of the term with this key, once or not at all, given where keys begin as it does."""
        first, last = key >> 16, key & 0xFFFF
        while place < len(self._firsts) and self._firsts[place] == first:
            entry = self._entries[self._starts[place] : self._starts[place + 1]]
            if entry[0] == last:
                yield entry[1:].astype(np.int64)
            place += 1
