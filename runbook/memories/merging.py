"""Merging what several queries found into one list."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """A piece that a query chose: `place` counts in the pieces of its pool."""

    pool: str
    query: str
    score: float
    place: int


def round_robin(ranked: Sequence[Sequence[Choice]], total: int, per_query: int) -> list[Choice]:
    """In turns the best piece of each query that nobody chose yet, at most `per_query` from each.

    A query whose best piece is taken already moves on to its next one in the same turn.
    """
    chosen: list[Choice] = []
    taken: set[int] = set()
    rests = [iter(one) for one in ranked]
    for _ in range(per_query):
        for rest in rests:
            if len(chosen) == total:
                return chosen
            fresh = next((choice for choice in rest if choice.place not in taken), None)
            if fresh is not None:
                taken.add(fresh.place)
                chosen.append(fresh)
    return chosen
