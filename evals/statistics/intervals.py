"""Intervals of shares."""

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends, in the unit of the figure that they surround (a share: 0..1)."""

    low: float
    high: float


def wilson_interval(successes: float, count: int, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of a share; None where nothing was counted.

    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n); E. B. Wilson, JASA 22 (1927) 209.
    It assumes independent questions. `successes` is a whole number, or the sum of shares, each 0..1. Raises
    ValueError for counts that cannot be.
    """
    if not 0 <= successes <= count or not 0 < confidence < 1:
        raise ValueError(f"no share: {successes} of {count} at confidence {confidence}")
    if count == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / count
    scale = 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    # At the ends the exact values are 0 and 1, which floating point only comes near.
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == count else min(1.0, middle + half)
    return Interval(low, high)
