"""Keys of 48 bits for terms and lines: the one rule of the index (made on the host) and of look-ups in it.

Two texts have one key once in 2**48: a term is not compared with what it was made from, a line is.
"""

from __future__ import annotations

try:  # hashlib has the same, and takes longer to start than all else
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from .haystack import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MEMORY = 200_000  # texts of each kind whose keys are remembered


def term_keys(terms: Iterable[str]) -> Iterable[int]:
    """The key of each term."""
    return map(_terms.__getitem__, terms)


def line_keys(lines: Iterable[str]) -> Iterable[int]:
    """The key of each line, whatever its indent and element id."""
    return map(_lines.__getitem__, lines)


class _Known(dict):  # type: ignore[type-arg]  # subscripted only from Python 3.9 on
    """The keys of texts seen before: a haystack repeats its terms and lines a hundred times."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, text: str) -> int:
        raw = self._rule(text).encode("utf-8", "surrogatepass")
        key = int.from_bytes(blake2b(raw, digest_size=6).digest(), "big")
        if len(self) >= _MEMORY:
            self.clear()
        self[text] = key
        return key


_terms = _Known(str)
_lines = _Known(plain)
