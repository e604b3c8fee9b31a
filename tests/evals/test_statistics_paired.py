"""Exact McNemar, Holm, the minimum detectable effect, and Cohen's kappa."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.statistics.agreement import cohen_kappa
from evals.statistics.paired import detectable_difference, holm, mcnemar

counts = st.integers(0, 300)
p_values = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(
    ("only_one", "only_other", "expected"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (0, 6, 2 / 64),  # 2 (1/2)^6
        (1, 9, 22 / 1024),  # 2 (1 + 10) / 2^10
        (3, 3, 1.0),
        (10, 20, 0.0987),  # two-sided binomial test of 10 in 30
    ],
)
def test_mcnemar_by_hand(only_one, only_other, expected):
    assert mcnemar(only_one, only_other) == pytest.approx(expected, abs=5e-5)


@given(counts, counts)
def test_mcnemar_is_a_probability_that_does_not_care_which_arm_is_which(one, other):
    assert 0 < mcnemar(one, other) == mcnemar(other, one) <= 1


@given(counts, counts)
def test_mcnemar_falls_as_the_arms_part(one, more):
    assert mcnemar(one, one + more + 1) <= mcnemar(one, one + more)


def test_mcnemar_wrongly_finds_a_difference_in_no_more_than_its_level():
    discordant = np.random.default_rng(1).binomial(40, 0.5, size=4000)
    wrong = np.mean([mcnemar(int(one), 40 - int(one)) < 0.05 for one in discordant])
    assert wrong <= 0.05


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.7]) == [0.7]


@given(p_values)
def test_holm_keeps_order_and_lies_between_the_raw_value_and_bonferroni(values):
    adjusted = holm(values)
    for raw, held in zip(values, adjusted, strict=True):
        assert raw <= held <= min(1.0, len(values) * raw) + 1e-12
    pairs = sorted(zip(values, adjusted, strict=True))
    assert [held for _, held in pairs] == sorted(adjusted)


@given(p_values, st.randoms())
def test_holm_does_not_depend_on_the_order_given(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    shuffled = holm([values[index] for index in order])
    held = holm(values)
    assert shuffled == pytest.approx([held[index] for index in order])


@pytest.mark.parametrize("values", [[-0.1], [1.1, 0.5]])
def test_what_is_no_probability(values):
    with pytest.raises(ValueError, match="no p-values"):
        holm(values)


@given(st.integers(1, 400), st.integers(2, 2000))
def test_the_detectable_difference_solves_the_formula_of_the_sample_size(discordant, count):
    discordant = min(discordant, count)
    found = detectable_difference(discordant, count)
    if found is None:
        return
    share = discordant / count
    assert 0 < found <= share
    needed = ((1.959964 * share**0.5 + 0.841621 * (share - found**2) ** 0.5) / found) ** 2
    assert needed == pytest.approx(count, rel=1e-3)


def test_more_questions_detect_less_and_few_discordant_ones_detect_nothing():
    assert detectable_difference(90, 451) == pytest.approx(0.0589, abs=5e-4)
    small, large = detectable_difference(20, 100), detectable_difference(200, 1000)
    assert small is not None
    assert large is not None
    assert large < small
    assert detectable_difference(0, 100) is None
    assert detectable_difference(3, 100) is None


def test_the_power_at_the_detectable_difference_is_near_what_was_asked_for():
    count, discordance = 451, 0.2
    difference = detectable_difference(round(discordance * count), count)
    assert difference is not None
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    drawn = np.random.default_rng(2).multinomial(count, shares, size=1500)
    found = np.mean([mcnemar(int(one), int(other)) < 0.05 for one, other, _ in drawn])
    assert found == pytest.approx(0.8, abs=0.06)


def test_kappa_by_hand():
    one = [1] * 25 + [0] * 25
    other = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    agreement = cohen_kappa(one, other)
    assert (agreement.count, agreement.agreed) == (50, 35)
    assert agreement.kappa == pytest.approx(0.4)


def test_kappa_without_anything_to_explain():
    assert cohen_kappa([], []).kappa is None
    assert cohen_kappa([1, 1], [1, 1]).kappa is None
    assert cohen_kappa([1, 0], [0, 1]).kappa == -1
    with pytest.raises(ValueError, match="2 labels against 1"):
        cohen_kappa([1, 0], [1])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))))
def test_kappa_is_symmetric_and_at_most_one(labels):
    one, other = [a for a, _ in labels], [b for _, b in labels]
    forth, back = cohen_kappa(one, other), cohen_kappa(other, one)
    assert forth == back
    assert forth.kappa is None or -1 <= forth.kappa <= 1
    same = cohen_kappa(one, one).kappa
    assert same is None or same == 1
