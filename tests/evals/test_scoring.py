"""Scoring, beyond the recorded vectors: what a score means, and what holds for all texts."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import EvalFunctionError, parse_eval_function
from evals.scoring.evaluate import check_eval_function, matcher, score

PHRASES = ["norm_phrase_set_match", "norm_phrase_set_match_ordered"]
MATCHERS = [*PHRASES, "mc_choice_match", "mc_choice_set_match"]
words = st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=8), min_size=1, max_size=6)


def matches(eval_function: str, prediction: str, gold: str) -> bool:
    return matcher(check_eval_function(eval_function))(prediction, gold)


@given(words)
@pytest.mark.parametrize("name", PHRASES)
def test_a_gold_matches_itself(name, gold):
    assert matches(name, f"I think {', '.join(gold)}.", "; ".join(gold))


@given(words)
def test_order_matters_to_the_ordered_matcher_alone(gold):
    distinct = list(dict.fromkeys(gold))
    backwards = " ".join(reversed(distinct))
    assert matches("norm_phrase_set_match", backwards, ",".join(distinct))
    assert matches("norm_phrase_set_match_ordered", backwards, ",".join(distinct)) is (len(distinct) == 1)


@given(st.text(), st.text())
def test_the_ordered_matcher_is_the_stricter_one(prediction, gold):
    if matches("norm_phrase_set_match_ordered", prediction, gold):
        assert matches("norm_phrase_set_match", prediction, gold)


@given(st.text(), st.text())
@pytest.mark.parametrize("name", MATCHERS)
def test_no_text_breaks_a_matcher(name, prediction, gold):
    assert matches(name, prediction, gold) in (True, False)
    assert matches(name, "", gold) is False
    assert matches(name, prediction, " ") is False


@given(st.sets(st.sampled_from("ABCDEFGH"), min_size=1), st.randoms())
def test_a_set_of_letters_has_no_order(letters, order):
    shuffled = sorted(letters)
    order.shuffle(shuffled)
    assert matches("mc_choice_set_match", f"options {' and '.join(shuffled)}", ",".join(sorted(letters)))


@given(st.text(string.printable.replace("{", "").replace("}", "").replace("\\", "")), st.text("ab{}\\ "))
def test_the_last_box_is_the_answer(inside, before):
    response = f"{before}\\boxed{{{inside}}} done"
    assert parse_answer(response) == (inside.strip() or response.strip())


@given(st.text())
def test_a_text_without_a_box_is_its_own_answer(text):
    assert parse_answer(text.replace("boxed", "")) == text.replace("boxed", "").strip()


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [("A. Save", "A", False), ("(A)", "A", False), ("option a.", "A", True), ("options A", "A", False)],
)
def test_the_official_traps_of_one_choice_stay(prediction, gold, expected):
    assert matches("mc_choice_match", prediction, gold) is expected


def test_a_phrase_matches_whole_words_also_where_negated():
    assert matches("norm_phrase_set_match", "not the Save button", "save")
    assert not matches("norm_phrase_set_match", "saved", "save")


def test_options_are_typed():
    options = parse_eval_function("mc_choice_match|a=TRUE|b=none|c=3|d=2.5|e=x y||").options
    assert options == {"a": True, "b": None, "c": 3, "d": 2.5, "e": "x y"}


@pytest.mark.parametrize("text", ["", "nope", "mc_choice_match|x", "mc_choice_match|x=1|x=2"])
def test_an_eval_function_that_cannot_be_read(text):
    with pytest.raises(EvalFunctionError):
        parse_eval_function(text)


def test_a_right_answer_scores_one(make_question):
    verdict = score(make_question(), "It is \\boxed{Red}.")
    assert verdict is not None
    assert (verdict.score, verdict.label, verdict.parsed_answer) == (1, 1, "Red")
    assert verdict.evaluator == "norm_phrase_set_match"


def test_the_box_counts_not_the_text_around_it(make_question):
    verdict = score(make_question(), "It is red, or rather \\boxed{blue}")
    assert verdict is not None
    assert verdict.score == 0


def test_unknown_scores_zero_whatever_the_matcher_said(make_question):
    verdict = score(make_question(answer="unknown"), "\\boxed{UNKNOWN}")
    assert verdict is not None
    assert (verdict.score, verdict.label, verdict.unknown) == (0, 1, True)
    assert is_unknown("Unknown")
    assert not is_unknown("UNKNOWN.")


@pytest.mark.parametrize("checker", ["llm_abstention_checker", "llm_gotchas_checker"])
def test_a_checker_needs_a_model_only_where_there_is_something_to_check(make_question, checker):
    question = make_question(question_type="static-environment-abs", eval_function=checker)
    assert score(question, "There is no such page.") is None
    for response in ("  ", "\\boxed{unknown}"):
        verdict = score(question, response)
        assert verdict is not None
        assert verdict.score == 0
    unguarded = make_question(eval_function=f"{checker}|require_non_empty=false")
    assert score(unguarded, "  ") is None
