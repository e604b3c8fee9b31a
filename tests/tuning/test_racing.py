"""When a setting stops early, and that a good one rarely does."""

import numpy as np

from evals.tuning.racing import Answered, Figures, at_best, figures, hopeless, undominated

QUESTIONS, BLOCK = 40, 8


def asked_until(qualities: list[float], seconds: float, done: list[Figures]) -> int:
    """After how many questions a setting is stopped; all of them where it is not."""
    answers = [Answered(quality, seconds, 0.0) for quality in qualities]
    for count in range(BLOCK, QUESTIONS, BLOCK):
        best = at_best(answers[:count], QUESTIONS, 0.05)
        if hopeless(best, done, keep=0.5, money=False):
            return count
    return QUESTIONS


def test_a_hopeless_setting_stops_early() -> None:
    drawn = np.random.default_rng(0)
    champion = [Figures(0.8, 0.5, 0.0)]
    asked = [
        asked_until((drawn.random(QUESTIONS) < 0.1).astype(float).tolist(), 0.5, champion) for _ in range(20)
    ]
    assert np.mean(asked) <= QUESTIONS / 2


def test_the_better_setting_is_stopped_at_most_as_often_as_said() -> None:
    drawn = np.random.default_rng(3)
    champion = [Figures(0.6, 0.5, 0.0)]
    values = (np.arange(QUESTIONS) < 0.625 * QUESTIONS).astype(float)
    stopped = sum(
        asked_until(drawn.permutation(values).tolist(), 0.5, champion) < QUESTIONS for _ in range(50)
    )
    assert stopped <= 6  # 7 or more have a chance below 2 % at the level of 5 %


def test_a_quick_setting_goes_on_although_it_is_worse() -> None:
    champion = [Figures(0.8, 60.0, 0.0)]
    assert asked_until([1.0, 0.0] * 20, 3.0, champion) == QUESTIONS
    assert asked_until([1.0, 0.0] * 20, 60.0, champion) < QUESTIONS


def test_a_quick_setting_without_use_stops() -> None:
    assert asked_until([0.0] * 40, 3.0, [Figures(0.8, 60.0, 0.0)]) < QUESTIONS


def test_nothing_is_hopeless_before_something_is_done() -> None:
    assert not hopeless(Figures(0.0, 1.0, 0.0), [], keep=0.5, money=False)


def test_a_lower_price_keeps_a_setting_where_money_counts() -> None:
    champion = [Figures(0.8, 10.0, 1.0)]
    assert not hopeless(Figures(0.7, 10.0, 0.1), champion, keep=0.5, money=True)
    assert hopeless(Figures(0.7, 10.0, 0.1), champion, keep=0.5, money=False)


def test_an_unknown_price_makes_the_mean_unknown() -> None:
    assert figures([Answered(1, 2, 0.5), Answered(0, 4, None)]) == Figures(0.5, 3, None)


def test_the_undominated_come_best_first() -> None:
    points = [Figures(0.5, 1, 0), Figures(0.9, 9, 0), Figures(0.4, 2, 0), Figures(0.9, 10, 0)]
    assert undominated(points, money=True) == [1, 0]
