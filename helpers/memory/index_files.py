"""The index of a haystack in a folder: its layout, and its parts, opened one after the other."""

from __future__ import annotations

import os
import struct

from . import tokens
from .failure import NoIndexError
from .haystack import is_slug
from .index_part import FORMAT, Listed, Part, damaged, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .index_part import SplitKey

FIELDS = ("goal", "url", "title", "action", "thought", "observation")
FOLDER = ".index"
LAYOUT = "layout"
_CHECKSUM = 4


class IndexFiles:
    """The index in a folder; `levels` by field, `common` terms with how many postings they have.

    Raises:
        NoIndexError: it is not there, damaged, or of another version.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        path = os.path.join(folder, LAYOUT)
        try:
            with open(path, "rb") as file:
                raw = file.read()
        except OSError:
            raise NoIndexError("the haystack has no index") from None
        _check_version(raw, path)
        try:
            self._read(raw)
        except (ValueError, TypeError, struct.error):
            raise damaged(path, "its tables do not fit together") from None

    def postings(
        self, trajectories: Iterable[int], keys: Sequence[SplitKey]
    ) -> Iterator[tuple[int, int, list[int]]]:
        """Where terms stand in these trajectories: the trajectory, and what Part.postings tells."""
        for trajectory, part in self._parts(trajectories):
            for which, postings in part.postings(keys):
                yield trajectory, which, postings

    def lines(
        self, trajectories: Iterable[int], keys: Sequence[SplitKey]
    ) -> Iterator[tuple[int, int, list[int]]]:
        """Which states show lines in these trajectories: the trajectory, and what Part.lines tells."""
        for trajectory, part in self._parts(trajectories):
            for which, states in part.lines(keys):
                yield trajectory, which, states

    def _parts(self, trajectories: Iterable[int]) -> Iterator[tuple[int, Part]]:
        """The parts of these trajectories, each open until the next one is asked for."""
        # Hundreds of paths would take longer to follow than their files to read.
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            for trajectory in trajectories:
                listed = self.trajectories[trajectory]
                path = f"{self._folder}/{listed.slug}"
                try:
                    file = os.open(listed.slug, os.O_RDONLY, dir_fd=folder)
                except OSError as error:
                    raise damaged(path, error.strerror or "it cannot be read") from None
                try:
                    yield trajectory, Part(file, listed, path)
                finally:
                    os.close(file)
        finally:
            os.close(folder)

    def _read(self, raw: bytes) -> None:
        """Raises ValueError where numbers that others compute with do not fit together."""
        _, sizes, rest = raw.split(b"\n", 2)
        count, states, common = map(int, sizes.split())
        *rows, tables = rest.split(b"\n", count)
        view = memoryview(tables)[:-_CHECKSUM]
        if not count or len(rows) != count or len(view) != 20 * count + len(FIELDS) * states + 12 * common:
            raise ValueError("it is cut off")
        counts = numbers(view[: 20 * count], 4).tolist()
        self.trajectories = [
            _listed(row.decode(), counts[place : place + 5])
            for row, place in zip(rows, range(0, 5 * count, 5))
        ]
        if states != sum(one.states for one in self.trajectories):
            raise ValueError("states are missing")
        view = view[20 * count :]
        self.levels = [bytes(view[states * field : states * (field + 1)]) for field in range(len(FIELDS))]
        keys = len(FIELDS) * states
        common_keys = numbers(view[keys : keys + 8 * common], 8)
        self.common: dict[int, int] = dict(zip(common_keys, numbers(view[keys + 8 * common :], 4)))


def _check_version(raw: bytes, path: str) -> None:
    from zlib import crc32

    head = raw[: raw.find(b"\n")].decode("ascii", "replace")
    if not head.startswith("runbook-index "):
        raise damaged(path, "it tells no version")
    wanted = f"{FORMAT} {tokens.VERSION}"
    if head.partition(" ")[2] != wanted:
        raise NoIndexError(f"{path} is of version {head.partition(' ')[2][:40]}, wanted is {wanted}")
    if crc32(raw[:-_CHECKSUM]) != int.from_bytes(raw[-_CHECKSUM:], "little"):
        raise damaged(path, "its checksum does not fit")


def _listed(row: str, counts: list[int]) -> Listed:
    slug, _, convention = row.partition("\t")
    if not slug or not is_slug(slug) or not counts[0]:
        raise ValueError("it names no trajectory")
    return Listed(slug, convention, *counts)
