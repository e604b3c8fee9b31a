"""The key of a line: the one rule of the index's table of lines (on the host) and of look-ups in it."""

from __future__ import annotations

try:  # hashlib has the same, and takes longer to start than all else
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from .haystack import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MEMORY = 200_000  # lines whose keys are remembered


def line_keys(lines: Iterable[str]) -> Iterable[int]:
    """A number of 64 bits for each line, whatever its indent and element id."""
    return map(_known.__getitem__, lines)


class _Known(dict):  # type: ignore[type-arg]  # subscripted only from Python 3.9 on
    """The keys of lines seen before: a haystack repeats its lines a hundred times."""

    def __missing__(self, line: str) -> int:
        raw = plain(line).encode("utf-8", "surrogatepass")
        key = int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")
        if len(self) >= _MEMORY:
            self.clear()
        self[line] = key
        return key


_known = _Known()
