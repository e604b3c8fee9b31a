"""From what settings did on the search questions to operating points, and how much better the best one looks
than it is."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evals.scoring.lafs import REFERENCE, OperatingPoint, lafs, lafs_gain
from evals.tuning.racing import Figures, undominated

NAMES = ("fast", "balanced", "accurate")


def lafs_value(found: Figures, tier: str) -> float:
    """LAFS gain of a setting alone over the published points; where it gains nothing, less than 0: minus the
    accuracy points that it lacks to the best published one that is as quick."""
    point = OperatingPoint(found.quality, found.counted_seconds)
    gain = lafs_gain([point], tier)
    if gain > 0:
        return gain
    as_quick = [one.accuracy for one in REFERENCE[tier].values() if one.seconds <= found.counted_seconds]
    return 100 * (found.quality - max(as_quick, default=found.quality))


def operating_points(
    done: Mapping[int, Figures], objective: Literal["lafs", "pareto"], tier: str, *, keep: float, money: bool
) -> dict[str, int]:
    """The number of the setting for each operating point; one setting may be several of them.

    Out of the undominated settings with at least the share `keep` of the best quality: `accurate` is the best
    one, `fast` the quickest, `balanced` the one with the most LAFS alone (its gain over the published points
    where that is the objective). Empty where no setting is finished.
    """
    if not done:
        return {}
    numbers = list(done)
    front = [numbers[index] for index in undominated(list(done.values()), money=money)]
    floor = keep * max(one.quality for one in done.values())
    useful = [number for number in front if done[number].quality >= floor]

    def alone(number: int) -> tuple[float, float]:
        point = OperatingPoint(done[number].quality, done[number].counted_seconds)
        gain = lafs_value(done[number], tier) if objective == "lafs" else 0.0
        return gain, lafs([point])

    return {
        "fast": min(useful, key=lambda number: (done[number].counted_seconds, -done[number].quality)),
        "balanced": max(useful, key=alone),
        "accurate": useful[0],
    }


def expected_lead(settings: int, questions: int, share: float) -> float:
    """How far the best of equal, independent settings lies above their common quality, on average; 0..1.

    E max X / n - p with X the numbers of right answers, binomial(n, p), of so many settings:
    E max X = sum over k < n of 1 - F(k)^settings. Values between 0 and 1 spread less, so it is then too much.
    """
    if not 0 < share < 1:
        return 0.0
    ways = math.lgamma(questions + 1)
    chances = [
        math.exp(
            ways
            - math.lgamma(k + 1)
            - math.lgamma(questions - k + 1)
            + k * math.log(share)
            + (questions - k) * math.log1p(-share)
        )
        for k in range(questions + 1)
    ]
    below = np.minimum(np.cumsum(chances), 1.0)
    return float(np.sum(1 - below[:-1] ** settings) / questions - share)


def paired_lead(values: NDArray[np.float64], settings: int) -> float | None:
    """The same for settings that answer the same questions and therefore vary together; roughly, 0..1.

    What is left of the finished settings' values without their own means and those of the questions is
    chance, with variance s2 = sum r2 / ((k - 1)(n - 1)); the best of equal settings then leads by s / sqrt(n)
    times the mean of the largest of so many standard normal numbers. None with fewer than two settings or
    questions.

    Args:
        values: finished settings x questions.
        settings: how many were tried, finished or not.
    """
    finished, questions = values.shape
    if finished < 2 or questions < 2:
        return None
    left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0, keepdims=True) + values.mean()
    variance = float(np.sum(left**2)) / ((finished - 1) * (questions - 1))
    return math.sqrt(variance / questions) * _largest_normal(settings)


def _largest_normal(count: int) -> float:
    """E max = integral over x > 0 of 1 - F(x)^n - F(-x)^n."""
    steps = np.linspace(0, 8, 1601)
    above = np.array([NormalDist().cdf(step) for step in steps.tolist()])
    return float(np.trapezoid(1 - above**count - (1 - above) ** count, steps))


def mean_of_means(done: Sequence[Figures]) -> float:
    """Mean quality of settings; 0.5, where chance does most, without any."""
    return float(np.mean([one.quality for one in done])) if done else 0.5
