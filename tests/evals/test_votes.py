"""Several votes for one verdict: the majority counts, and no vote is paid for twice."""

import pytest

from evals.judge import Judge
from evals.model_errors import JudgeError
from evals.vote_cache import VoteCache

RIGHT = '{"label": 1, "reason": "names the flaw"}'
WRONG = '{"label": 0, "reason": "goes along with it"}'


@pytest.fixture
def question(make_question):
    return make_question(
        question_type="static-environment-abs",
        eval_function="llm_abstention_checker",
        answer="there is no such page",
    )


@pytest.mark.parametrize(
    ("replies", "score", "reason"),
    [((RIGHT, WRONG, RIGHT), 1, "names the flaw"), ((RIGHT, WRONG, WRONG), 0, "goes along with it")],
)
def test_the_majority_counts_and_every_vote_is_kept(model, config, question, replies, score, reason):
    model.says(*replies)
    verdict = Judge(config(), votes=3).judge(question, "\\boxed{none}", seed=7)
    assert (verdict.score, verdict.label, verdict.reason) == (score, score, reason)
    assert len(verdict.votes) == verdict.judge_calls == 3
    assert [vote.seed for vote in verdict.votes] == [7, 8, 9]
    assert [request["seed"] for request in model.requests] == [7, 8, 9]
    assert verdict.usage is not None
    assert verdict.usage.total_tokens == 360


def test_an_even_number_of_votes_has_no_majority(config):
    with pytest.raises(ValueError, match="odd"):
        Judge(config(), votes=2)


def test_a_vote_that_was_paid_for_is_not_asked_again(model, config, question, tmp_path):
    model.says(RIGHT)
    first = Judge(config(), votes=3, cache=VoteCache(tmp_path)).judge(question, "\\boxed{none}")
    again = Judge(config(), votes=3, cache=VoteCache(tmp_path)).judge(question, "\\boxed{none}", seed=5)
    assert len(model.requests) == 3
    assert [vote.cached for vote in first.votes] == [False] * 3
    assert [vote.cached for vote in again.votes] == [True] * 3
    assert again.score == first.score


@pytest.mark.parametrize(
    "change",
    [
        {"response": "\\boxed{another}"},
        {"repeat": 1},
        {"config": {"model": "another"}},
        {"question": {"answer": "another"}},
    ],
)
def test_another_response_repeat_judge_or_reference_is_asked_about(model, config, question, tmp_path, change):
    model.says(RIGHT)
    cache = VoteCache(tmp_path)
    Judge(config(), cache=cache).judge(question, "\\boxed{none}")
    changed = question.model_copy(update=change.get("question", {}))
    Judge(config(**change.get("config", {})), cache=cache).judge(
        changed, change.get("response", "\\boxed{none}"), repeat=change.get("repeat", 0)
    )
    assert len(model.requests) == 2


def test_votes_before_one_that_failed_are_kept(model, config, question, tmp_path, answer, saying):
    model.answers = [answer(saying(RIGHT)), answer({"error": {"message": "no"}}, status=400)]
    judge = Judge(config(), votes=3, cache=VoteCache(tmp_path))
    with pytest.raises(JudgeError):
        judge.judge(question, "\\boxed{none}")
    model.answers = [answer(saying(RIGHT))]
    verdict = judge.judge(question, "\\boxed{none}")
    assert [vote.cached for vote in verdict.votes] == [True, False, False]
    assert len(model.requests) == 4


def test_a_damaged_vote_is_asked_for_again(model, config, question, tmp_path):
    model.says(RIGHT)
    Judge(config(), cache=VoteCache(tmp_path)).judge(question, "\\boxed{none}")
    for file in tmp_path.iterdir():
        file.write_text("{")
    assert Judge(config(), cache=VoteCache(tmp_path)).judge(question, "\\boxed{none}").score == 1
    assert len(model.requests) == 2
