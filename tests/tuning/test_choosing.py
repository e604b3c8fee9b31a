"""Operating points, and how much better the best of equal settings looks."""

import numpy as np
import pytest

from evals.tuning.choosing import expected_lead, lafs_value, operating_points, paired_lead
from evals.tuning.racing import Figures


def test_the_best_of_twenty_equal_settings_looks_ten_points_better_on_seventy_questions() -> None:
    assert 0.10 < expected_lead(20, 70, 0.5) < 0.12
    assert expected_lead(1, 70, 0.5) == pytest.approx(0, abs=1e-9)
    assert expected_lead(20, 70, 0.0) == 0


def test_settings_that_answer_alike_lead_by_less() -> None:
    drawn = np.random.default_rng(0)
    apart = (drawn.random((20, 70)) < 0.5).astype(float)
    assert paired_lead(apart, 20) == pytest.approx(expected_lead(20, 70, 0.5), abs=0.01)
    assert paired_lead(apart[:4], 20) == pytest.approx(expected_lead(20, 70, 0.5), abs=0.02)
    assert paired_lead(np.tile(apart[0], (20, 1)), 20) == pytest.approx(0)
    assert paired_lead(apart[:1], 20) is None


def test_each_operating_point_is_its_own_trade() -> None:
    done = {3: Figures(0.9, 90, 0), 5: Figures(0.8, 8, 0), 7: Figures(0.5, 2, 0), 8: Figures(0.2, 1, 0)}
    chosen = operating_points(done, "pareto", "small", keep=0.5, money=False)
    assert chosen == {"fast": 7, "balanced": 5, "accurate": 3}
    assert operating_points({}, "pareto", "small", keep=0.5, money=False) == {}


def test_what_gains_nothing_is_the_worse_the_more_it_lacks() -> None:
    gaining, near, far = Figures(0.7, 40, 0), Figures(0.55, 40, 0), Figures(0.2, 40, 0)
    values = [lafs_value(one, "small") for one in (gaining, near, far)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0 > values[1]
