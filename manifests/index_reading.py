"""A view's index read on the host, for rankings that need no sandbox."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .index_format import INDEX_FOLDER, LAYOUT, POSTINGS_PER_STATE, Counts, part_head
from .index_layout import read_layout
from .index_parts import Levels
from .part_terms import Numbers, PartTerms

__all__ = ["IndexMissingError", "ViewIndex"]


class IndexMissingError(OSError):
    """The haystack has no full-text index, or none that can be used; the message says so."""


class ViewIndex:
    """Where terms stand in a haystack whose states are numbered through, trajectories in order of slug.

    `firsts` has the number of each trajectory's first state, and one more at the end; `levels` a row for each
    field (FIELDS) and a column for each state, as IndexPart.levels.
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
                part = PartTerms(*self._terms(slug, counts), counts)
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
