"""The aggregates bear the public names and count what they say they count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.aggregate import ScoredQuestion, accuracy, aggregated_metrics, latency_figures
from runbook.endpoint.usage import Usage

ABSTENTION = "llm_abstention_checker"


def scored(
    question_type: str, score: int | None, evaluator: str = "mc_choice_match", **more
) -> ScoredQuestion:
    return ScoredQuestion(question_type=question_type, evaluator=evaluator, score=score, **more)


@pytest.fixture
def metrics():
    return aggregated_metrics(
        [
            scored("static-environment", 1),
            scored("static-environment", 0, unknown=True),
            scored("static-environment-abs", 1, ABSTENTION),
            scored("procedure-abs", 0, ABSTENTION),
            scored("dynamic-environment-abs", 1, "norm_phrase_set_match"),
            scored("errors-gotchas", 0, "llm_gotchas_checker"),
            scored("a type of our own", 1),
            scored("procedure", None),
        ]
    )


def test_the_public_names(metrics):
    counted = {"count", "pct_correct", "pct_answered_wrong", "pct_unknown"}
    seconds = {f"{name}_seconds" for name in ("avg", "p50", "p95", "max", "total")}
    names = {
        "overall": {
            "overall_full_set",
            "overall_non_abstention_only",
            "overall_abstention_only",
            "count_all_questions",
            "count_non_abstention",
            "count_abstention",
        },
        "non_abstention_by_category": {"static", "dynamic", "procedure", "gotchas"},
        "abstention_by_category": {"static-abs", "dynamic-abs", "procedure-abs"},
        "combined_abstention_by_category": {"static", "dynamic", "procedure"},
        "abstention_overall": counted,
        "tokens": {
            f"{start}{name}_tokens" for start in ("", "avg_") for name in ("prompt", "completion", "total")
        },
        "memory_context": {"avg_original_tokens", "avg_final_tokens", "num_truncated_sequences"},
        "memory_query": seconds,
        "memory_post_query": seconds,
    }
    assert {name: set(figures) for name, figures in metrics.items()} == names
    for name in names:
        if name.endswith("_by_category"):
            assert all(set(figures) == counted for figures in metrics[name].values())


def test_what_has_no_score_is_in_no_mean(metrics):
    assert metrics["overall"]["count_all_questions"] == 7
    assert metrics["overall"]["overall_full_set"] == pytest.approx(4 / 7)
    assert metrics["non_abstention_by_category"]["procedure"] == {
        "count": 0,
        "pct_correct": None,
        "pct_answered_wrong": None,
        "pct_unknown": None,
    }


def test_the_evaluator_makes_an_abstention_question_not_its_type(metrics):
    assert metrics["overall"]["count_abstention"] == 2
    assert metrics["overall"]["overall_abstention_only"] == 0.5
    assert metrics["abstention_by_category"]["dynamic-abs"]["count"] == 0


def test_an_abstention_type_with_another_evaluator_is_in_the_combined_category_only(metrics):
    assert metrics["overall"]["count_non_abstention"] == 5
    assert metrics["non_abstention_by_category"]["dynamic"]["count"] == 0
    assert metrics["combined_abstention_by_category"]["dynamic"]["count"] == 1


def test_an_unknown_is_not_also_wrong(metrics):
    assert metrics["non_abstention_by_category"]["static"] == {
        "count": 2,
        "pct_correct": 0.5,
        "pct_answered_wrong": 0.0,
        "pct_unknown": 0.5,
    }


def test_a_category_combines_plain_and_abstention_questions(metrics):
    assert metrics["combined_abstention_by_category"]["static"]["count"] == 3
    assert metrics["combined_abstention_by_category"]["static"]["pct_correct"] == pytest.approx(2 / 3)


def test_tokens_are_summed_and_an_unknown_count_is_not_zero():
    known = Usage(prompt_tokens=10, completion_tokens=2, total_tokens=12)
    rows = [scored("procedure", 1, usage=known), scored("procedure", 1, usage=known)]
    tokens = aggregated_metrics(rows)["tokens"]
    assert (tokens["total_tokens"], tokens["avg_prompt_tokens"]) == (24, 10)
    partly = aggregated_metrics([*rows, scored("procedure", 1, usage=Usage())])["tokens"]
    assert (partly["total_tokens"], partly["avg_total_tokens"]) == (None, 12)
    assert aggregated_metrics([])["tokens"]["total_tokens"] is None


def test_context_and_latency_figures():
    rows = [
        scored("procedure", 1, original_tokens=300, final_tokens=200, truncated=True, query_seconds=4.0),
        scored("procedure", 0, original_tokens=100, final_tokens=100, query_seconds=2.0),
    ]
    metrics = aggregated_metrics(rows)
    assert metrics["memory_context"] == {
        "avg_original_tokens": 200,
        "avg_final_tokens": 150,
        "num_truncated_sequences": 1,
    }
    assert metrics["memory_query"]["total_seconds"] == 6.0
    assert metrics["memory_post_query"]["avg_seconds"] is None


def test_percentiles_are_the_public_ones():
    figures = latency_figures([3.0, 1.0, 2.0, 4.0])
    assert figures == {"avg": 2.5, "p50": 3.0, "p95": 4.0, "max": 4.0, "total": 10.0}
    assert latency_figures(float(second) for second in range(100))["p95"] == 95.0
    assert latency_figures([])["p50"] is None


def test_strict_conditional_and_coverage_stand_side_by_side():
    rows = [scored("procedure", 1), scored("procedure", 0), scored("procedure", None)]
    assert accuracy(rows, total=4) == {
        "strict": 0.25,
        "conditional": 0.5,
        "coverage": 0.5,
        "scored": 2,
        "questions": 4,
    }
    assert accuracy([], total=0)["strict"] is None


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_durations_that_occurred(seconds):
    figures = latency_figures(seconds)
    assert figures["p50"] in seconds
    assert figures["p95"] in seconds
    assert figures["p50"] <= figures["p95"] <= figures["max"]
