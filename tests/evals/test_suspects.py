"""Doubtful scores are listed; the scores themselves stay official."""

import pytest

from evals.scoring.evaluate import score
from evals.scoring.suspects import suspects


def kinds(question, response) -> list[str]:
    return [one.kind.value for one in suspects(question, response)]


@pytest.mark.parametrize(
    "response", ["\\boxed{A. Save}", "\\boxed{(A)}", "\\boxed{\\text{A}}", "\\boxed{options A}"]
)
def test_the_right_letter_in_another_form(make_question, response):
    question = make_question(answer="A", eval_function="mc_choice_match")
    verdict = score(question, response)
    assert verdict is not None
    assert verdict.score == 0
    assert kinds(question, response) == ["choice_form"]


def test_the_right_letters_in_a_sentence(make_question):
    question = make_question(answer="A,C", eval_function="mc_choice_set_match")
    assert kinds(question, "The answer is A and C") == ["choice_form"]
    assert kinds(question, "The answer is A and B") == []


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("\\boxed{UNKNOWN.}", ["unknown_form"]),
        ("\\boxed{\\text{UNKNOWN}}", ["unknown_form"]),
        ("\\boxed{I don't know}", ["unknown_form"]),
        ("\\boxed{UNKNOWN", ["unclosed_unknown"]),
        ("\\boxed{UNKNOWN}", []),
    ],
)
def test_ways_to_say_unknown(make_question, response, expected):
    assert kinds(make_question(), response) == expected


def test_a_negated_match(make_question):
    question = make_question(answer="save")
    assert kinds(question, "\\boxed{not the Save button}") == ["negated"]
    assert kinds(question, "\\boxed{the Save button, not Cancel}") == []


def test_an_earlier_box_that_scores_otherwise(make_question):
    assert kinds(make_question(), "\\boxed{red} or rather \\boxed{blue}") == ["other_box"]
    assert kinds(make_question(), "\\boxed{red} that is \\boxed{red}") == []


def test_a_plain_right_or_wrong_answer_is_not_suspect(make_question):
    choice = make_question(answer="A", eval_function="mc_choice_match")
    assert kinds(choice, "\\boxed{A}") == kinds(choice, "\\boxed{B}") == []
    assert kinds(make_question(), "\\boxed{red}") == kinds(make_question(), "\\boxed{blue}") == []


def test_a_judged_question_has_no_suspects(make_question):
    assert kinds(make_question(eval_function="llm_gotchas_checker"), "\\boxed{UNKNOWN.}") == []
