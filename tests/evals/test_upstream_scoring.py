"""Scoring agrees with a real checkout of the public harness, on inputs that nobody has chosen."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evals.aggregate import ScoredQuestion, aggregated_metrics
from evals.context_budget import fit_context
from evals.official.launcher import importable, part
from evals.scoring.answer import is_unknown, parse_answer
from evals.scoring.eval_function import EvalFunctionError
from evals.scoring.evaluate import check_eval_function, matcher
from evals.scoring.judge_reply import UnusableReplyError, lenient_verdict
from evals.scoring.lafs import OperatingPoint, lafs
from runbook.context import MemoryContext, TextItem
from runbook.endpoint.usage import Usage

TEXTS = st.lists(
    st.sampled_from(
        [
            *("A", "B", "AB", " ", ",", ";", ".", "-", "_", "and", "option", "Option A", "choice", "answer"),
            *(
                "UNKNOWN",
                "unknown.",
                "\\boxed{",
                "}",
                "{",
                "\\boxed{A}",
                "\\text{A}",
                "(A)",
                "Save",
                "ı",
                "İ",
            ),
            *("ß", "ﬁ", "½", "\u2028", "\x1c", "\n", "é", "e\u0301", "\u200b", "\xa0", "foo bar", "foo-bar"),
            *("*", "[", "^", "\\", "1", "0", "'", '"'),
        ]
    ),
    max_size=8,
).map("".join)
OPTIONS = st.sampled_from(
    [
        *("", " ", "foo", "foo=1", "=x", "lower=false", " lower= 0 ", "normalize_hyphen=false"),
        *("strip_punct=False", "require_non_empty=false", "require_non_empty=0", "require_non_empty=none"),
        *("require_non_empty=no", "separators=|", "separators=", "separators= , ;", "separators=ab"),
        *('separators=[",", "x"]', "separators=[]", 'separators=[""]', "separators=[1]", "separators=[bad"),
        *("separators=none", "separators=true", "separators=12", 'separators={"a":1}', "separator=,"),
        *("strip_chars=.)(", "strip_chars=", "strip_chars= .", "strip_chars=none", "strip_chars=true"),
        *("strip_chars=5", "strip_chars=1.5", "strip_chars=1e5", "strip_chars=nan", "strip_chars=.5"),
    ]
)
MATCHERS = st.sampled_from(
    [
        "norm_phrase_set_match",
        " norm_phrase_set_match_ordered ",
        "mc_choice_match",
        "mc_choice_set_match",
        "no_such_match",
        "",
    ]
)
REPLIES = st.lists(
    st.sampled_from(
        [
            *(
                '{"label":1}',
                '{"label": 0, "reason": "x"}',
                '{"label":"1"}',
                '{"label":"2"}',
                '{"label":true}',
            ),
            *(
                '{"label":1.0}',
                '{"label":null}',
                '{"label":[1]}',
                '{"label":{}}',
                '{"label":NaN}',
                "{'label': 0}",
            ),
            *('{"reason":"label: 0","label":1}', '{"a":{"label":1}}', '{"label":0,"label":1}', '"label": 10'),
            *(
                "```json\n",
                "\n```",
                "```",
                "label: 1",
                "LABEL = 0",
                "label: 10",
                "my_label: 1",
                "**Label:** 1",
            ),
            *('<think>{"label":1}</think>', "{", "}", "[", "]", ",", " ", "\n", "\u2028", "reason"),
        ]
    ),
    max_size=5,
).map("".join)
QUESTIONS = st.builds(
    ScoredQuestion,
    question_type=st.sampled_from(
        [
            f"{kind}{end}"
            for kind in ("static-environment", "dynamic-environment", "procedure")
            for end in ("", "-abs")
        ]
        + ["errors-gotchas"]
    ),
    evaluator=st.sampled_from(["mc_choice_match", "llm_abstention_checker", "llm_gotchas_checker"]),
    score=st.sampled_from([0, 1]),
    unknown=st.booleans(),
    usage=st.just(Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2)),
).map(lambda one: one.model_copy(update={"score": 0}) if one.unknown else one)
MANY = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    database=None,
)


@pytest.fixture(scope="module")
def checkout() -> Path:
    named = os.environ.get("RUNBOOK_UPSTREAM")
    if not named:
        pytest.skip("RUNBOOK_UPSTREAM names no checkout of the public harness")
    return Path(named)


@pytest.fixture(scope="module")
def modules(checkout: Path) -> Iterator[dict[str, ModuleType]]:
    """The parts of the checkout that score; taken out of the interpreter again."""
    before = set(sys.modules)
    names = ("evaluation.qa_eval_metrics", "evaluation.harness", "leaderboard.compute_lafs")
    with importable(checkout):
        yield {name.rpartition(".")[2]: part(checkout, name) for name in names}
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("evaluation", "memory_modules", "leaderboard", "data"):
            del sys.modules[name]


@MANY
@given(name=MATCHERS, options=st.lists(OPTIONS, max_size=2), prediction=TEXTS, gold=TEXTS)
def test_matchers(
    modules: dict[str, ModuleType], name: str, options: list[str], prediction: str, gold: str
) -> None:
    spec = "|".join([name, *options])
    try:
        expected: Any = bool(modules["qa_eval_metrics"].eval_from_spec(spec, prediction, gold))
    except Exception:  # whatever it raises: the question cannot be scored
        expected = "error"
    try:
        got: Any = matcher(check_eval_function(spec))(prediction, gold)
    except EvalFunctionError:
        got = "error"
    assert got == expected


@MANY
@given(response=TEXTS)
def test_boxed_answers(modules: dict[str, ModuleType], response: str) -> None:
    upstream = modules["qa_eval_metrics"]
    expected = upstream.extract_boxed_answer(response)
    assert parse_answer(response) == expected
    assert is_unknown(expected) == upstream.is_unknown(expected)


@MANY
@given(reply=REPLIES)
def test_judges_replies(modules: dict[str, ModuleType], reply: str) -> None:
    try:
        expected: Any = modules["qa_eval_metrics"]._parse_llm_binary_judgement(reply)
    except Exception:
        expected = "error"
    try:
        got: Any = lenient_verdict(reply)
    except UnusableReplyError:
        got = "error"
    assert got == expected


@MANY
@given(questions=st.lists(QUESTIONS, min_size=1, max_size=12))
def test_aggregates(modules: dict[str, ModuleType], questions: list[ScoredQuestion]) -> None:
    expected = modules["harness"].aggregate_metrics(
        [
            {
                "score": one.score,
                "score_bool": bool(one.score),
                "is_unknown": one.unknown,
                "category": one.category,
                "is_abstention_problem": one.abstention,
            }
            for one in questions
        ]
    )
    ours = aggregated_metrics(questions)
    assert _rounded({name: ours[name] for name in expected}) == _rounded(expected)


@MANY
@given(points=st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 400)), max_size=6))
def test_lafs(modules: dict[str, ModuleType], points: list[tuple[float, float]]) -> None:
    upstream = modules["compute_lafs"]
    expected = upstream.lafs([upstream.Point("p", 100 * share, latency) for share, latency in points])
    assert lafs([OperatingPoint(*point) for point in points]) == pytest.approx(expected, abs=1e-9)


class _Words:
    """Counts words; nothing is known of images."""

    mode = "words"

    def text(self, text: str) -> int:
        return len(text.split())

    def image(self, path: Path) -> int:
        raise OSError(path)

    def whole(self, items: Any) -> int:
        return sum(self.text(str(one)) for one in items)


@MANY
@given(sizes=st.lists(st.integers(0, 9), max_size=9), budget=st.integers(1, 40))
def test_cutting(
    modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, sizes: list[int], budget: int
) -> None:
    harness = modules["harness"]
    items = [{"type": "text", "value": " ".join(["w"] * size)} for size in sizes]
    monkeypatch.setattr(
        harness,
        "count_memory_context_tokens",
        lambda kept, _: _Words().whole([one["value"] for one in kept]),
    )
    kept, before, after = harness.truncate_memory_context(items, max_tokens=budget, question_id="q")
    context = MemoryContext(items=tuple(TextItem(text=one["value"]) for one in items))
    fitted, cut = fit_context(context, _Words(), budget, "prefix")
    assert [one.text for one in fitted.items] == [one["value"] for one in kept]  # type: ignore[union-attr]
    assert (cut.original_tokens, cut.final_tokens) == (before, after)


def _rounded(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 12))
