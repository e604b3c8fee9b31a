"""How far two judges of the same things agree."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """`agreed` of `count` items have the same label; `kappa` is what is left of it beyond chance, -1..1."""

    count: int
    agreed: int
    kappa: float | None
    """None without items, or where both gave one and the same label only, so that chance explains all."""


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> Agreement:
    """Agreement of two raters, item by item.

    kappa = (p_o - p_e) / (1 - p_e), p_e from each rater's own label frequencies; J. Cohen, Educational and
    Psychological Measurement 20 (1960) 37. Raises ValueError for lists of different lengths.
    """
    if len(one) != len(other):
        raise ValueError(f"{len(one)} labels against {len(other)}")
    count = len(one)
    agreed = sum(a == b for a, b in zip(one, other, strict=True))
    first, second = Counter(one), Counter(other)
    # Kept as integers, so that a chance agreement of exactly 1 is seen as such.
    by_chance = sum(times * second[label] for label, times in first.items())
    if by_chance == count * count:
        return Agreement(count, agreed, None)
    return Agreement(count, agreed, (agreed * count - by_chance) / (count * count - by_chance))
