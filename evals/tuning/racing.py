"""When a setting can stop before its last question: it can no longer come to the frontier of the study."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from evals.scoring.lafs import SHORTEST_BUDGET_SECONDS
from evals.tuning.sequences import lower_limit, upper_limit

NO_QUICKER = 1.1
"""Less than 10 % quicker is not quicker: two runs of one setting differ by as much."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question under one setting."""

    quality: float
    """Score or share of gold pieces hit, 0..1."""
    seconds: float
    usd: float | None
    """Of the memory's model calls; None where a price is unknown."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions, of a setting that has answered them all or, as limits, of one that has not."""

    quality: float
    seconds: float
    usd: float | None

    @property
    def counted_seconds(self) -> float:
        """As LAFS counts them: nothing is gained below the shortest budget."""
        return max(self.seconds, SHORTEST_BUDGET_SECONDS)


def figures(answers: Sequence[Answered]) -> Figures:
    """Means; the price is unknown where one of them is. There has to be an answer."""
    costs = [one.usd for one in answers]
    return Figures(
        quality=fmean(one.quality for one in answers),
        seconds=fmean(one.seconds for one in answers),
        usd=None if None in costs else fmean(one for one in costs if one is not None),
    )


def at_best(answers: Sequence[Answered], population: int, level: float) -> Figures:
    """The best that a setting can still come to over all `population` questions.

    All three limits hold together at every look with probability 1 - `level` (union bound over the three).
    The price is that of what was spent so far where it is unknown: nothing is concluded from it.
    """
    share = level / 3
    known = [one.usd for one in answers if one.usd is not None]
    return Figures(
        quality=upper_limit([one.quality for one in answers], population, share),
        seconds=lower_limit([one.seconds for one in answers], population, share),
        usd=lower_limit(known, population, share) if len(known) == len(answers) else 0.0,
    )


def hopeless(best: Figures, done: Sequence[Figures], *, keep: float, money: bool) -> bool:
    """Whether a setting whose figures are at best `best` cannot come to the frontier of the finished ones.

    Args:
        keep: share of the best quality below which no point of the frontier is of use.
        money: whether a lower price, too, makes a point of the frontier.
    """
    if not done:
        return False
    if best.quality < keep * max(one.quality for one in done):
        return True
    return any(_beaten(best, one, money=money) for one in done)


def _beaten(best: Figures, by: Figures, *, money: bool) -> bool:
    cheaper = money and best.usd is not None and by.usd is not None and best.usd < by.usd
    quicker = best.counted_seconds * NO_QUICKER < by.counted_seconds
    return by.quality > best.quality and not quicker and not cheaper


def undominated(points: Sequence[Figures], *, money: bool) -> list[int]:
    """The indices of the points that no other one beats or equals in all that counts, best quality first."""
    return sorted(
        (
            index
            for index, point in enumerate(points)
            if not any(_as_good(other, point, money=money) for other in points)
        ),
        key=lambda index: (-points[index].quality, points[index].seconds),
    )


def _as_good(one: Figures, other: Figures, *, money: bool) -> bool:
    pairs = [(-one.quality, -other.quality), (one.seconds, other.seconds)]
    if money and one.usd is not None and other.usd is not None:
        pairs.append((one.usd, other.usd))
    return all(mine <= its for mine, its in pairs) and any(mine < its for mine, its in pairs)
