"""Limits of a mean that hold at every look, so that looking after each question costs nothing.

`y_1, y_2, ...` are drawn without replacement from `N` values >= 0 whose mean is asked for. For a mean `m` let

    m_i   = (N m - (y_1 + ... + y_(i-1))) / (N - i + 1)          the mean of what is left, were it m
    K_t   = average over g = 1..G of  prod(i <= t)  1 + l_g (y_i / m_i - 1),    l_g = g / (G + 1)

Were the mean at most m, K would be a non-negative supermartingale that starts at 1, so by Ville's inequality
it ever reaches 1/a with probability at most a: every m with K_t(m) >= 1/a for some t so far is ruled out. K
falls in m, so what is left is an interval that starts at the lower limit.

It is the diversified grid-Kelly bet, for sampling without replacement, of Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", JRSS B 86 (2024) 1; it needs no upper bound of the
values. The upper limit of a share is 1 less the lower limit of its complement.

The mean is that of the N questions of the study, not of a wider population: it is known exactly once all are
asked, and questions that depend on each other do no harm, since only the random order is relied on.
"""

from collections.abc import Sequence

import numpy as np

_BETS = np.arange(1, 20)[:, None] / 20
_STEPS = 25


def lower_limit(values: Sequence[float], population: int, level: float) -> float:
    """The lower limit of the mean of `population` values >= 0, of which `values` were drawn in that order.

    Over all numbers of draws together it is above the mean with probability at most `level`. Raises
    ValueError for a negative value, more values than there are, or a level outside 0..1.
    """
    drawn = np.asarray(values, dtype=float)
    if not 0 < level < 1 or len(drawn) > population or np.any(drawn < 0) or not np.all(np.isfinite(drawn)):
        raise ValueError(f"no sample of {population} values >= 0 at level {level}: {list(values)[:5]}")
    if len(drawn) == 0:
        return 0.0
    low, high = float(drawn.sum() / population), float(drawn.max())
    if len(drawn) == population:
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _ruled_out(middle, drawn, population, level):
            low = middle
        else:
            high = middle
    return low


def upper_limit(shares: Sequence[float], population: int, level: float) -> float:
    """The same from above for values of 0..1; it is below the mean with probability at most `level`."""
    return 1 - lower_limit([1 - share for share in shares], population, level)


def _ruled_out(
    mean: float, drawn: "np.ndarray[tuple[int], np.dtype[np.float64]]", population: int, level: float
) -> bool:
    before = np.concatenate([[0.0], np.cumsum(drawn)[:-1]])
    left = population - np.arange(len(drawn))
    rest = (population * mean - before) / left
    if np.any(rest < 0):
        return True
    # Where nothing may be left, a value of 0 says nothing and any other one everything.
    ratios = np.divide(drawn, rest, out=np.where(drawn > 0, np.inf, 1.0), where=rest > 0)
    capital = np.cumsum(np.log1p(_BETS * (ratios - 1)), axis=1)
    at_each = np.logaddexp.reduce(capital, axis=0) - np.log(len(_BETS))
    return bool(at_each.max() >= -np.log(level))
