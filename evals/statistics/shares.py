"""Intervals of means of shares, 0..1, also where hardly any question is right, or hardly any wrong.

A bootstrap draws from what it saw: with 8 of 8 right it never draws a wrong answer, and its interval has no
width. There intervals of the score kind do better (Brown, Cai and DasGupta, Statist. Sci. 16 (2001) 101), so
below `FEW_CASES` of either kind a bootstrap is joined with one: no end lies further in than either says. Both
take each question for one trial, which is no less than the spread of any values of 0..1 with that mean: their
variance is at most p(1 - p) (Bhatia and Davis, Amer. Math. Monthly 107 (2000) 353).
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evals.statistics.bootstrap import RESAMPLES, mean_interval
from evals.statistics.clusters import Clusters
from evals.statistics.intervals import Interval, wilson_interval

FEW_CASES = 5
"""Questions' worth of right or of wrong answers, below which a bootstrap has too little to draw from."""
_Floats: TypeAlias = NDArray[np.float64]


def mean_share_interval(
    values: _Floats,
    clusters: Clusters,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The interval of a mean of shares over questions.

    A bootstrap over clusters, joined with Wilson's where few are right or wrong. None without any question,
    and away from the ends where there is no spread to draw from, as in `bootstrap_interval`.
    """
    drawn = mean_interval(values, clusters, confidence=confidence, resamples=resamples, seed=seed)
    if not near_an_end(values):
        return drawn
    return hull(drawn, wilson_interval(float(values.sum()), len(values), confidence))


def share_difference_interval(
    one: _Floats,
    other: _Floats,
    clusters: Clusters,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The interval of the mean of `other` less that of `one`, question by question.

    A bootstrap over clusters, joined with Newcombe's where few questions differ or an arm is near an end.
    None as in `mean_share_interval`.
    """
    gained = other - one
    drawn = mean_interval(gained, clusters, confidence=confidence, resamples=resamples, seed=seed)
    scarce = np.count_nonzero(gained) < FEW_CASES or near_an_end(one) or near_an_end(other)
    if not scarce:
        return drawn
    return hull(drawn, _newcombe(one, other, confidence))


def hull(*intervals: Interval | None) -> Interval | None:
    """The narrowest interval that holds all of them; None where there is none."""
    known = [one for one in intervals if one is not None]
    if not known:
        return None
    return Interval(min(one.low for one in known), max(one.high for one in known))


def near_an_end(values: _Floats) -> bool:
    """Whether fewer than `FEW_CASES` questions' worth is right, or is wrong."""
    return bool(min(values.sum(), (1 - values).sum()) < FEW_CASES)


def _newcombe(one: _Floats, other: _Floats, confidence: float) -> Interval | None:
    """Of a difference of paired shares, from Wilson's of each and how they go together.

    Method 10 of R. G. Newcombe, Statist. Med. 17 (1998) 2635. Of means its table holds the expected counts.
    """
    count = len(one)
    first = wilson_interval(float(one.sum()), count, confidence)
    second = wilson_interval(float(other.sum()), count, confidence)
    if first is None or second is None:
        return None
    a, b = float(one.mean()), float(other.mean())
    together = _together(one, other)
    low = _joined(b - second.low, first.high - a, together)
    high = _joined(second.high - b, a - first.low, together)
    return Interval(b - a - low, b - a + high)


def _joined(one: float, other: float, together: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * together * one * other + other * other))


def _together(one: _Floats, other: _Floats) -> float:
    """Newcombe's phi: the correlation, corrected for continuity where it is above 0; 0 at an end."""
    count = len(one)
    both, neither = float((one * other).sum()), float(((1 - one) * (1 - other)).sum())
    only_one, only_other = float((one * (1 - other)).sum()), float(((1 - one) * other).sum())
    margins = (both + only_one) * (neither + only_other) * (both + only_other) * (neither + only_one)
    if margins <= 0:
        return 0.0
    excess = both * neither - only_one * only_other
    if excess > 0:
        excess = max(0.0, excess - count / 2)
    return excess / math.sqrt(margins)
