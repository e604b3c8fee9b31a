"""Sessions that another one repeats: a resumed or forked session begins with all the messages of the first.

What is repeated whole says nothing of its own, and would only be found twice.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from .ledger import FileRecord, Kept


class Repeats:
    """The trajectories of all session files, by the message they begin with."""

    def __init__(
        self, records: Mapping[str, FileRecord], read_marks: Callable[[Path], frozenset[int]]
    ) -> None:
        self._records = records
        self._read_marks = read_marks
        self._marks: dict[str, frozenset[int]] = {}
        self._families: defaultdict[int, list[tuple[str, Kept]]] = defaultdict(list)
        for key, record in records.items():
            self._enter(key, record.kept)

    def whole(self, part: Kept) -> Kept | None:
        """A trajectory that holds every message of `part`, None where there is none."""
        for key, kept in self._families[part.first]:
            if not kept.within and part.last in self._marks_of(key):
                return kept
        return None

    def parts(self, whole: Kept, marks: frozenset[int]) -> list[Kept]:
        """The trajectories whose every message `whole` holds; `marks` are those of its file."""
        return [kept for _, kept in self._families[whole.first] if not kept.within and kept.last in marks]

    def forget(self, key: str, kept: list[Kept]) -> None:
        """Leave out what a file held: it is read anew."""
        self._marks.pop(key, None)
        for first in {one.first for one in kept}:
            self._families[first] = [one for one in self._families[first] if one[0] != key]

    def note(self, key: str, kept: list[Kept], marks: frozenset[int]) -> None:
        """Enter what a file holds."""
        self._marks[key] = marks
        self._enter(key, kept)

    def _enter(self, key: str, found: list[Kept]) -> None:
        for kept in found:
            self._families[kept.first].append((key, kept))

    def _marks_of(self, key: str) -> frozenset[int]:
        if key not in self._marks:
            self._marks[key] = self._read_marks(Path(self._records[key].path))
        return self._marks[key]
