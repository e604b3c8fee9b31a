"""Which questions a run asks: the same for the same seed, each type with its share, nothing twice."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.question import EvalQuestion
from evals.runs.choosing import Choice, ChoiceError, choose
from evals.runs.gates import parts, refusal
from runbook.outcomes import Outcome

Types = st.lists(st.sampled_from(["static", "dynamic", "static-abs"]), min_size=1, max_size=60)


def questions(types: list[str]) -> list[EvalQuestion]:
    return [
        EvalQuestion(
            id=f"q{number}",
            domain="web",
            question_type=kind,
            question="?",
            image=None,
            answer="a",
            eval_function="norm_phrase_set_match",
        )
        for number, kind in enumerate(types)
    ]


@given(types=Types, size=st.integers(1, 70), seed=st.integers(0, 5))
def test_a_sample_has_its_size_and_every_type_its_share(types: list[str], size: int, seed: int) -> None:
    asked = questions(types)
    chosen = choose(asked, Choice(sample=size, seed=seed))
    assert len(chosen) == len({question.id for question in chosen}) == min(size, len(asked))
    counts = Counter(question.question_type for question in chosen)
    for kind, total in Counter(types).items():
        assert abs(counts[kind] - total * len(chosen) / len(asked)) < 1


@given(types=Types, seed=st.integers(0, 5))
def test_the_same_seed_gives_the_same_order(types: list[str], seed: int) -> None:
    choice = Choice(sample=7, seed=seed)
    assert choose(questions(types), choice) == choose(questions(types), choice)


def test_limit_takes_the_first_questions_before_they_are_shuffled() -> None:
    chosen = choose(questions(["static"] * 9), Choice(limit=3, seed=4))
    assert {question.id for question in chosen} == {"q0", "q1", "q2"}


def test_an_unknown_id_is_named() -> None:
    with pytest.raises(ChoiceError, match="nowhere"):
        choose(questions(["static"]), Choice(ids=("q0", "nowhere")))


@given(total=st.integers(0, 40), gates=st.lists(st.integers(-1, 30), max_size=4))
def test_gates_lose_and_repeat_no_question(total: int, gates: list[int]) -> None:
    asked = questions(["static"] * total)
    cut = list(parts(asked, gates))
    assert [question for part in cut for question in part] == asked
    ends = {sum(len(part) for part in cut[: number + 1]) for number in range(len(cut) - 1)}
    assert ends == {gate for gate in gates if 0 < gate < total}


def test_only_a_failure_of_the_infrastructure_closes_a_gate() -> None:
    assert refusal({"a": Outcome.OK, "b": Outcome.TIMEOUT, "c": Outcome.INVALID_OUTPUT}) is None
    closed = refusal({"a": Outcome.OK, "b": Outcome.AUTH_ERROR})
    assert closed is not None
    assert "b in auth_error" in closed
    assert "--no-gates" in closed
