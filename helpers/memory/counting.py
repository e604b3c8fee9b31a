"""Count without collections.Counter, which takes longer to import than most verbs to run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    def _count_elements(counts: MutableMapping[int, int], numbers: Iterable[int], /) -> None: ...

else:
    try:
        from _collections import _count_elements
    except ImportError:  # another Python than CPython
        from collections import _count_elements


def counted(numbers: Iterable[int]) -> dict[int, int]:
    """How often each number comes."""
    counts: dict[int, int] = {}
    _count_elements(counts, numbers)
    return counts
