"""Two arms over the same questions: how surprising their difference is, and what could have been seen."""

import math
from collections.abc import Sequence
from statistics import NormalDist


def mcnemar(only_one: int, only_other: int) -> float:
    """Exact two-sided p-value that two arms are equally often right, from their discordant questions.

    min(1, 2 P(X <= min(b, c))) with X ~ Binomial(b + c, 1/2); Q. McNemar, Psychometrika 12 (1947) 153. It
    assumes independent questions. Raises ValueError for negative counts.

    Args:
        only_one, only_other: questions that only the one or only the other arm has right.
    """
    if only_one < 0 or only_other < 0:
        raise ValueError(f"no counts: {only_one}, {only_other}")
    discordant = only_one + only_other
    tail = sum(math.comb(discordant, k) for k in range(min(only_one, only_other) + 1))
    share: float = 2 * tail / 2**discordant
    return min(1.0, share)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: valid for the whole family, whatever its dependence.

    The i-th smallest of m becomes the largest (m - j + 1) p(j) with j <= i; S. Holm, Scand. J. Stat. 6 (1979)
    65. Raises ValueError for what is no probability.
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError(f"no p-values: {list(p_values)}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def detectable_difference(
    discordant: int, count: int, *, power: float = 0.8, level: float = 0.05
) -> float | None:
    """About the smallest true difference in accuracy, 0..1, that McNemar's test finds with the given power.

    Solves n = (z[1-a/2] sqrt(psi) + z[power] sqrt(psi - d²))² / d² for d, with psi the observed share of
    discordant questions; R. J. Connor, Biometrics 43 (1987) 207. It assumes independent questions, and the
    test without its exactness: the exact one has some points of power less where few are discordant.

    None where no question is discordant, or where the difference would have to be larger than psi, the
    largest one that so few discordant questions allow. Raises ValueError for counts that cannot be.
    """
    if not 0 <= discordant <= count:
        raise ValueError(f"no share: {discordant} of {count}")
    if discordant == 0:
        return None
    alpha, beta = NormalDist().inv_cdf(1 - level / 2), NormalDist().inv_cdf(power)
    inner = count - alpha**2 + beta**2
    if inner < 0:
        return None
    share = discordant / count
    found = math.sqrt(share) * (alpha * math.sqrt(count) + beta * math.sqrt(inner)) / (count + beta**2)
    return found if found <= share else None
