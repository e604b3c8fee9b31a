"""Evidence recall counts pieces of gold; answer_in_context looks for the gold in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.evidence_recall import (
    answer_in_context,
    evidence_recall,
    random_states,
    summarize_answers,
    summarize_recall,
)
from evals.question import Gold, GoldSpan


def span(trajectory: str, start: int, end: int | None = None) -> GoldSpan:
    return GoldSpan(
        trajectory_id=trajectory, start_state_index=start, end_state_index=start if end is None else end
    )


spans = st.lists(
    st.builds(
        lambda t, s, n: span(t, s, s + n), st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 4)
    ),
    max_size=6,
)


def test_one_shared_state_hits_a_piece_and_all_states_are_strict():
    gold = Gold(pieces=((span("t1", 3, 5),), (span("t2", 0),)))
    partial = evidence_recall([span("t1", 5, 9), span("t2", 0)], gold)
    assert (partial.hit, partial.all_pieces_hit, partial.strict) == (1.0, True, 0.5)
    whole = evidence_recall([span("t1", 3, 4), span("t1", 5, 5), span("t2", 0)], gold)
    assert whole.strict == 1.0


def test_any_alternative_of_a_piece_will_do():
    gold = Gold(pieces=((span("t1", 3), span("t9", 7, 8)),))
    assert evidence_recall([span("t9", 7, 8)], gold).strict == 1.0
    assert evidence_recall([span("t9", 6)], gold).hit == 0.0


def test_two_alternatives_in_part_are_not_one_in_full():
    gold = Gold(pieces=((span("t1", 0, 1), span("t2", 0, 1)),))
    assert evidence_recall([span("t1", 0), span("t2", 1)], gold).strict == 0.0


def test_a_missed_piece_lowers_the_share():
    gold = Gold(pieces=((span("t1", 1),), (span("t2", 1),), (span("t3", 1),)))
    recall = evidence_recall([span("t1", 1), span("t2", 2)], gold)
    assert recall.hit == pytest.approx(1 / 3)
    assert recall.all_pieces_hit is False


def test_states_are_counted_once():
    assert evidence_recall([span("t", 0, 3), span("t", 2, 5)], Gold()).states == 6


def test_a_gold_span_of_any_length_costs_nothing():
    gold = Gold(pieces=((span("t", 0, 10**15),),))
    recall = evidence_recall([span("t", 3)], gold)
    assert (recall.hit, recall.strict) == (1.0, 0.0)


@given(spans, st.lists(spans.filter(bool), max_size=4))
def test_strict_is_never_more_than_hit_and_gold_itself_is_complete(returned, pieces):
    gold = Gold(pieces=tuple(map(tuple, pieces)))
    recall = evidence_recall(returned, gold)
    if not pieces:
        assert (recall.hit, recall.strict, recall.all_pieces_hit) == (None, None, None)
        return
    assert recall.hit is not None
    assert recall.strict is not None
    assert 0 <= recall.strict <= recall.hit <= 1
    assert recall.all_pieces_hit is (recall.hit == 1)
    assert evidence_recall([piece[0] for piece in pieces], gold).strict == 1


def test_questions_without_pieces_are_left_out_of_the_means():
    gold = Gold(pieces=((span("t", 0),),))
    found = evidence_recall([span("t", 0, 4)], gold)
    missed = evidence_recall([span("u", 0)], gold)
    summary = summarize_recall([found, missed, evidence_recall([span("t", 0, 19)], Gold())])
    assert summary.questions == 2
    assert (summary.hit, summary.all_pieces_hit, summary.strict) == (0.5, 0.5, 0.5)
    assert summary.states_per_question == 3


def test_no_gold_at_all_has_no_figures():
    summary = summarize_recall([])
    assert (summary.questions, summary.hit, summary.states_per_question) == (0, None, None)


def test_the_gold_is_looked_for_with_its_own_matcher(make_question):
    ordered = make_question(answer="one, two", eval_function="norm_phrase_set_match_ordered")
    assert answer_in_context(ordered, "page one\npage two") is True
    assert answer_in_context(ordered, "page two\npage one") is False
    assert answer_in_context(ordered, "") is False


@pytest.mark.parametrize("evaluator", ["mc_choice_match", "mc_choice_set_match", "llm_gotchas_checker"])
def test_other_evaluators_cannot_tell(make_question, evaluator):
    assert answer_in_context(make_question(eval_function=evaluator), "red") is None


def test_what_cannot_be_told_is_out_of_the_denominator():
    summary = summarize_answers([True, None, False, True])
    assert (summary.passed, summary.n) == (2, 3)
    assert summary.share == pytest.approx(2 / 3)
    assert summarize_answers([None]).share is None


def test_random_states_are_seeded_distinct_and_of_the_haystack():
    lengths = {"b": 30, "a": 10}
    drawn = random_states(lengths, question_id="q")
    assert len(set(drawn)) == 20
    assert all(index < lengths[trajectory] for trajectory, index in drawn)
    assert drawn == random_states({"a": 10, "b": 30}, question_id="q")
    assert drawn != random_states(lengths, question_id="other")
    assert drawn != random_states(lengths, question_id="q", seed=1)


def test_a_small_haystack_is_drawn_whole():
    assert sorted(random_states({"a": 3}, question_id="q")) == [("a", 0), ("a", 1), ("a", 2)]
