"""A view's index read on the host, for rankings that need no sandbox."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .index_format import INDEX_FOLDER, LAYOUT, NUMBERS, POSTINGS_PER_STATE, Counts, part_head
from .index_layout import read_layout
from .index_parts import Levels

__all__ = ["IndexMissingError", "ViewIndex"]

Numbers: TypeAlias = NDArray[np.int64]


class IndexMissingError(OSError):
    """The haystack has no full-text index, or none that can be used; the message says so."""


class ViewIndex:
    """Where terms stand in a haystack whose states are numbered through, trajectories in order of slug.

    `firsts` has the number of each trajectory's first state, and one more at the end; `levels` a row for each
    field (FIELDS) and a column for each state: of n distinct terms round(8 * log2(1 + n)), at most 255.
    """

    def __init__(self, view: Path, rule: str) -> None:
        """The index of the view in this folder, made by this version of the Tokeniser.

        Raises IndexMissingError.
        """
        self._view, self._rule = view, rule
        with self._reporting():
            layout = read_layout((view / INDEX_FOLDER / LAYOUT).read_bytes(), rule)
        self._parts = layout.parts
        self.slugs = [slug for slug, _ in layout.parts]
        self.firsts: Numbers = np.cumsum([0, *(counts.states for _, counts in layout.parts)], dtype=np.int64)
        self.levels: Levels = layout.levels

    def postings(self, keys: Sequence[int]) -> list[Numbers]:
        """Where the terms with these keys stand: for each `state * 8 + field`, ascending; maybe nowhere.

        Raises IndexMissingError.
        """
        wanted = np.array([key >> 16 for key in keys], np.uint32)
        found: list[list[Numbers]] = [[np.zeros(0, np.int64)] for _ in keys]
        with self._reporting():
            for (slug, counts), first in zip(self._parts, self.firsts[:-1].tolist(), strict=True):
                part = _PartTerms(*self._terms(slug, counts), counts)
                for which, place in part.maybe(wanted):
                    for postings in part.of(keys[which], place):
                        found[which].append(postings + POSTINGS_PER_STATE * first)
        return [np.concatenate(postings) for postings in found]

    def _terms(self, slug: str, counts: Counts) -> tuple[bytes, int]:
        """A part up to its lines, and where its head ends."""
        head = part_head(self._rule, slug, counts)
        # Not pathlib: hundreds of them for each question.
        with open(f"{self._view}/{INDEX_FOLDER}/{slug}", "rb", buffering=0) as file:  # noqa: PTH123
            content = file.read(counts.lines_at(len(head)))
        if not content.startswith(head):
            raise ValueError(f"{slug} is damaged")
        return content, len(head)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise IndexMissingError(
                f"{self._view} has no full-text index that can be used ({error})"
            ) from error


class _PartTerms:
    """The terms of a part, looked up without reading all."""

    def __init__(self, content: bytes, start: int, counts: Counts) -> None:
        self._firsts = np.frombuffer(content, NUMBERS, counts.terms, start)
        start += self._firsts.nbytes
        self._starts = np.frombuffer(content, counts.start_type(), counts.terms + 1, start)
        start += self._starts.nbytes
        self._entries = np.frombuffer(content, counts.entry_type(), counts.terms + counts.postings, start)

    def maybe(self, wanted: NDArray[np.uint32]) -> Iterable[tuple[int, int]]:
        """Which of these first bits of keys there are, and where first."""
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
