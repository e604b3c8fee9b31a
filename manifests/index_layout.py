"""The layout of a view's index: which parts there are, and what would take each search too long to add up."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .index_format import CHECKSUM, FIELDS, NUMBERS, Counts, layout_head
from .index_parts import IndexPart, Levels, checksum
from .line_tables import Keys

_COMMON: Final = 1000  # postings


class Layout(NamedTuple):
    """What the parts hold, in order of slug, and the levels of all states: a row for each field (FIELDS)."""

    parts: list[tuple[str, Counts]]
    levels: Levels


class Gathered:
    """What a layout tells, added up from the parts in order of slug."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._parts: list[Counts] = []
        self._levels: list[Levels] = []
        self._keys: list[Keys] = []
        self._counts: list[NDArray[np.int64]] = []

    def add(self, slug: str, convention: str, part: IndexPart) -> None:
        """Add a part; it may be let go afterwards."""
        terms = part.terms()
        self._rows.append(f"{slug}\t{convention}\n")
        self._parts.append(part.counts)
        self._levels.append(part.levels().copy())
        self._keys.append(terms.keys())
        self._counts.append(terms.counts())

    def to_bytes(self, rule: str) -> bytes:
        """The layout, as index_format tells."""
        keys, counts = self._common()
        levels = np.concatenate(self._levels, axis=1)
        sizes = f"{len(self._rows)} {levels.shape[1]} {len(keys)}\n"
        text = layout_head(rule) + (sizes + "".join(self._rows)).encode()
        parts = np.array(self._parts, NUMBERS)
        tables = (
            parts.tobytes(),
            levels.tobytes(),
            keys.astype("<u8").tobytes(),
            counts.astype(NUMBERS).tobytes(),
        )
        content = b"".join((text, *tables))
        return content + checksum(content)

    def _common(self) -> tuple[Keys, NDArray[np.int64]]:
        """The terms with many postings, and how many: those take a search longest to count."""
        keys, which = np.unique(np.concatenate(self._keys), return_inverse=True)
        counts = np.bincount(which, np.concatenate(self._counts), len(keys)).astype(np.int64)
        common = counts >= _COMMON
        return keys[common], counts[common]


def read_layout(content: bytes, rule: str) -> Layout:
    """A view's layout. Raises ValueError where it is damaged, or of another format or rule."""
    head = layout_head(rule)
    if checksum(content[:-CHECKSUM]) != content[-CHECKSUM:] or not content.startswith(head):
        raise ValueError("its layout is damaged or of another version")
    sizes, _, rest = content[len(head) :].partition(b"\n")
    trajectories, states, _ = map(int, sizes.split())
    *rows, tables = rest.split(b"\n", trajectories)
    counts = np.frombuffer(tables, NUMBERS, 5 * trajectories).reshape(trajectories, 5)
    parts = [
        (row.decode().partition("\t")[0], Counts(*found))
        for row, found in zip(rows, counts.tolist(), strict=True)
    ]
    levels = np.frombuffer(tables, np.uint8, len(FIELDS) * states, counts.nbytes)
    return Layout(parts, levels.reshape(len(FIELDS), states))
