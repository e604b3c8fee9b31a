"""The split of a score's variance over repeats of agent, reader and judge."""

import numpy as np
import pytest

from evals.statistics.variance import Repeats, VarianceSplit, split_variance, unsteady


def simulated(
    agent: float, reader: float, judge: float, repeats: tuple[int, int, int], questions: int = 1500
) -> dict[str, Repeats]:
    """Scores with known variances; each question has a level of its own, which is no noise."""
    random = np.random.default_rng(8)
    a, r, j = repeats
    made = {}
    for number in range(questions):
        by_agent = random.normal(scale=agent**0.5, size=(a, 1, 1))
        by_reader = random.normal(scale=reader**0.5, size=(a, r, 1))
        by_judge = random.normal(scale=judge**0.5, size=(a, r, j))
        made[str(number)] = (random.normal() + by_agent + by_reader + by_judge).tolist()
    return made


def test_known_variances_are_found_again():
    split = split_variance(simulated(0.10, 0.04, 0.01, (3, 3, 2)))
    assert split.agent == pytest.approx(0.10, abs=0.012)
    assert split.reader == pytest.approx(0.04, abs=0.006)
    assert split.judge == pytest.approx(0.01, abs=0.002)
    assert split.total == pytest.approx(0.15, abs=0.02)
    assert split.deviation([[[[1]]]] * 451) == pytest.approx((0.15 / 451) ** 0.5, rel=0.1)


def test_the_deviation_of_a_mean_over_repeats_is_the_one_that_such_means_have():
    # Of many runs with these repeats the accuracies really spread so far, each over the same 40 questions.
    random = np.random.default_rng(3)
    shape, size = (3, 2, 4), (2000, 40)
    noise = sum(
        random.normal(scale=variance**0.5, size=(*size, *stage)).mean(axis=(2, 3, 4))
        for variance, stage in ((0.10, (3, 1, 1)), (0.04, (3, 2, 1)), (0.01, shape))
    )
    split = VarianceSplit(0.10, 0.04, 0.01, 40)
    assert split.deviation(np.zeros((40, *shape)).tolist()) == pytest.approx(
        noise.mean(axis=1).std(), rel=0.05
    )
    # Where some repeats came to nothing, those that are there weigh more.
    assert split.deviation([[[[1, 1], []], [[0]], []], []]) == pytest.approx(
        (0.10 * 5 / 9 + 0.04 * 5 / 9 + 0.01 / 3) ** 0.5
    )


def test_a_stage_that_was_not_repeated_is_not_estimated_and_its_noise_is_in_the_stage_above():
    split = split_variance(simulated(0.10, 0.04, 0.01, (3, 1, 1)))
    assert (split.reader, split.judge) == (None, None)
    assert split.agent == pytest.approx(0.15, abs=0.015)
    assert split.includes("agent") == ("reader", "judge")


def test_a_middle_stage_is_skipped():
    split = split_variance(simulated(0.10, 0.04, 0.01, (3, 1, 2)))
    assert split.reader is None
    assert split.agent == pytest.approx(0.14, abs=0.015)
    assert split.judge == pytest.approx(0.01, abs=0.002)
    assert split.includes("agent") == ("reader",)


def test_unequal_repeats_do_not_shift_the_estimates():
    ragged = simulated(0.10, 0.04, 0.01, (3, 3, 2), questions=2400)
    for number, question in enumerate(ragged.values()):
        if number % 2:
            del question[0][1:], question[1][0][1:]  # type: ignore[attr-defined]
    split = split_variance(ragged)
    assert split.agent == pytest.approx(0.10, abs=0.015)
    assert split.reader == pytest.approx(0.04, abs=0.008)


def test_by_hand():
    # Two agents' runs of one question, right and wrong: the sample variance of 1 and 0.
    assert split_variance({"q": [[[1]], [[0]]]}).agent == pytest.approx(0.5)
    assert split_variance({"q": [[[1, 0]]], "p": [[[1, 1]]]}).judge == pytest.approx(0.25)


def test_nothing_repeated_is_nothing_estimated():
    split = split_variance({"q": [[[1]]], "p": []})
    assert (split.agent, split.reader, split.judge, split.total, split.deviation([[[[1]]]])) == (None,) * 5


def test_noise_that_the_stage_below_explains_is_not_counted_twice():
    split = split_variance(simulated(0.0, 0.0, 0.2, (2, 2, 2)))
    assert split.judge == pytest.approx(0.2, abs=0.02)
    assert split.reader is not None
    assert split.reader < 0.02
    assert split.agent is not None
    assert split.agent < 0.02


def test_questions_that_flip_between_repeats_are_named():
    assert unsteady({"same": [[[1, 1]], [[1]]], "flips": [[[1]], [[0]]], "judged twice": [[[0, 1]]]}) == [
        "flips",
        "judged twice",
    ]
