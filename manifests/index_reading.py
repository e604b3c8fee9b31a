"""A view's index read on the host, for rankings that need no sandbox."""

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .index_format import INDEX_FOLDER, LAYOUT, POSTINGS_PER_STATE, Counts, part_head
from .index_layout import read_layout
from .index_parts import Levels, Terms, read_terms

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
        self._folder = view / INDEX_FOLDER
        try:
            layout = read_layout((self._folder / LAYOUT).read_bytes(), rule)
            self._parts = [self._terms(slug, counts, rule) for slug, counts in layout.parts]
        except (OSError, ValueError) as error:
            raise IndexMissingError(f"{view} has no full-text index that can be used ({error})") from error
        self.slugs = [slug for slug, _ in layout.parts]
        self.firsts: Numbers = np.cumsum([0, *(counts.states for _, counts in layout.parts)], dtype=np.int64)
        self.levels: Levels = layout.levels

    def postings(self, key: int) -> Numbers:
        """Where the term with this key stands: `state * 8 + field`, ascending."""
        found = [
            part.of(key).astype(np.int64) + POSTINGS_PER_STATE * first
            for part, first in zip(self._parts, self.firsts[:-1].tolist(), strict=True)
        ]
        return np.concatenate(found)

    def _terms(self, slug: str, counts: Counts, rule: str) -> Terms:
        head = part_head(rule, slug, counts)
        with (self._folder / slug).open("rb") as file:
            content = file.read(counts.lines_at(len(head)))
        if not content.startswith(head):
            raise ValueError(f"{slug} is damaged")
        return read_terms(content, counts, len(head))
