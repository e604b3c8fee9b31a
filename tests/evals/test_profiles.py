"""Two profiles: ours, and the public harness's own way, with its prompts taken from a user's checkout."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import instructions
from evals.model_errors import ReaderError
from evals.runs.config import RunConfig
from runbook.cli.evaluators import Evaluators, open_evaluators, refuse_unofficial
from runbook.cli.failures import Mistake
from runbook.context import MemoryContext, TextItem

HARNESS = '''
"""Prompts of a stand-in for the public harness, with texts of our own."""


def get_system_prompt(domain):
    return {"web": "SYSTEM web", "enterprise": "SYSTEM enterprise"}[domain]


def build_messages(system_prompt, question_text, image_path, memory_context):
    parts = [{"type": "text", "text": "CONTEXT" + ("" if memory_context else " none")}]
    logged = list(parts)
    for item in memory_context:
        if item["type"] == "text":
            parts.append({"type": "text", "text": item["value"]})
            logged.append(parts[-1])
        else:
            parts.append({"type": "image_url", "image_url": {"url": "data:" + item["value"]}})
            logged.append({"type": "image_path", "image_path": item["value"]})
    parts.append({"type": "text", "text": "ASK " + question_text})
    logged.append(parts[-1])
    return (
        [{"role": "system", "content": system_prompt}, {"role": "user", "content": parts}],
        [{"role": "system", "content": system_prompt}, {"role": "user", "content": logged}],
    )
'''
METRICS = """
def _build_abstention_judge_messages(
    *, question_text, reference_answer, model_full_response, model_final_answer
):
    said = "|".join([question_text, reference_answer, model_full_response, model_final_answer])
    return [{"role": "user", "content": "JUDGE " + said}]


_build_gotchas_judge_messages = _build_abstention_judge_messages
"""
FILL = "a word " * 400
Open = Callable[..., Any]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [one for one in sys.modules if one.partition(".")[0] == "evaluation"]:
        monkeypatch.delitem(sys.modules, name)
    root = tmp_path / "checkout"
    (root / "evaluation").mkdir(parents=True)
    for name, text in (("__init__", ""), ("harness", HARNESS), ("qa_eval_metrics", METRICS)):
        (root / "evaluation" / f"{name}.py").write_text(text)
    yield root
    for name in [one for one in sys.modules if one.partition(".")[0] == "evaluation"]:
        sys.modules.pop(name)


@pytest.fixture
def settings(model: Any, checkout: Path, tmp_path: Path) -> Callable[..., RunConfig]:
    """Of a run with reader and judge; the official profile has all it needs."""
    preprocessor = tmp_path / "preprocessor_config.json"
    preprocessor.write_text(
        json.dumps({"patch_size": 16, "merge_size": 2, "min_pixels": 65536, "max_pixels": 16777216})
    )

    def build(**changed: Any) -> RunConfig:
        endpoint = {"model": "m", "base_url": model.url, "retry_seconds": 2, "backoff_seconds": 0.01}
        values = {
            "data": "data",
            "store": "store",
            "reader": endpoint,
            "judge": endpoint,
            "profile": "official",
            "upstream": checkout,
            "token_counter": "endpoint",
            "preprocessor": preprocessor,
        }
        return RunConfig.model_validate(values | changed)

    return build


@contextmanager
def opened(config: RunConfig, folder: Path) -> Iterator[Evaluators]:
    with open_evaluators(config, folder, Console(file=io.StringIO()), threading.Event()) as evaluators:
        yield evaluators


def texts(*items: str) -> MemoryContext:
    return MemoryContext(items=tuple(TextItem(text=one) for one in items))


def counted(answer: Callable[..., Any], *counts: int) -> list[Any]:
    """Replies of a tokenize endpoint."""
    return [answer({"count": count}) for count in counts]


def test_the_official_reader_is_asked_with_the_checkouts_prompts(
    model, settings, tmp_path, make_question, answer, saying
):
    model.answers = [*counted(answer, 9), answer(saying("\\boxed{red}"))]
    with opened(settings(), tmp_path) as evaluators:
        reading = evaluators.reader.read(make_question(), texts("note"))
    asked = model.requests[-1]
    assert asked["messages"][0]["content"] == "SYSTEM web"
    assert [part["text"] for part in asked["messages"][1]["content"]] == [
        "CONTEXT",
        "note",
        "ASK Which colour?",
    ]
    assert (asked["temperature"], asked["top_p"], asked["top_k"], asked["max_tokens"]) == (
        0.6,
        0.95,
        20,
        20_000,
    )
    assert "seed" not in asked
    assert (reading.cut.counter, reading.cut.original_tokens) == (
        "text by the reader's server, images from model",
        9,
    )


def test_the_fixed_reader_is_asked_with_ours(model, settings, tmp_path, make_question):
    model.says("\\boxed{red}")
    fixed = settings(profile="fixed", token_counter="estimate", preprocessor=None)
    assert fixed.upstream is None
    with opened(fixed, tmp_path) as evaluators:
        evaluators.reader.read(make_question(), texts("note"))
        assert evaluators.prompt_digests == instructions.prompt_digests()
    assert model.requests[-1]["messages"][0]["content"] == instructions.reader_system("web")


def test_a_first_item_over_the_budget_leaves_nothing_officially(
    model, settings, tmp_path, make_question, answer, saying
):
    # All items, then by bisection the first alone, then what is left: nothing, which nobody has to count.
    model.answers = [*counted(answer, 300_000, 250_000), answer(saying("\\boxed{UNKNOWN}"))]
    with opened(settings(), tmp_path) as evaluators:
        reading = evaluators.reader.read(make_question(), texts("huge", "small"))
    assert (reading.cut.original_items, reading.cut.final_items, reading.cut.final_tokens) == (2, 0, 0)
    assert model.requests[-1]["messages"][1]["content"][0]["text"] == "CONTEXT none"


def test_and_is_cut_with_a_marker_in_ours(model, settings, tmp_path, make_question):
    model.says("\\boxed{red}")
    fixed = settings(profile="fixed", token_counter="estimate", preprocessor=None)
    with opened(fixed, tmp_path) as evaluators:
        reading = evaluators.reader.read(make_question(), texts(FILL * 700, "small"))
    assert (reading.cut.final_items, reading.cut.shortened_item) == (1, 0)
    assert "cut here" in model.requests[-1]["messages"][1]["content"][0]["text"]


def test_a_400_is_an_empty_answer_officially_and_an_error_in_ours(
    model, settings, tmp_path, make_question, answer
):
    model.answers = [*counted(answer, 9), answer({"error": {"message": "too long"}}, status=400)]
    with opened(settings(), tmp_path) as evaluators:
        reading = evaluators.reader.read(make_question(), texts("note"))
    assert (reading.response, reading.fallback) == ("", "bad_request")
    fixed = settings(profile="fixed", token_counter="estimate", preprocessor=None)
    with opened(fixed, tmp_path) as evaluators, pytest.raises(ReaderError):
        evaluators.reader.read(make_question(), texts("note"))


def test_reasoning_alone_is_an_answer_officially_and_an_error_in_ours(
    model, settings, tmp_path, make_question, answer, saying
):
    model.answers = [*counted(answer, 9), answer(saying(None, reasoning="so \\boxed{red}"))]
    with opened(settings(), tmp_path) as evaluators:
        reading = evaluators.reader.read(make_question(), texts("note"))
    assert (reading.parsed_answer, reading.fallback) == ("red", "reasoning")
    fixed = settings(profile="fixed", token_counter="estimate", preprocessor=None)
    with opened(fixed, tmp_path) as evaluators, pytest.raises(ReaderError, match="no content"):
        evaluators.reader.read(make_question(), texts("note"))


def test_the_official_judge_asks_and_reads_as_the_checkout_does(model, settings, tmp_path, make_question):
    model.says('The label: {"label": "1"} and {"label": 0}')
    question = make_question(
        question_type="static-environment-abs",
        eval_function="llm_abstention_checker",
        answer=" no such page ",
    )
    with opened(settings(), tmp_path) as evaluators:
        verdict = evaluators.judge.judge(question, " so \\boxed{none} ")
    assert model.requests[0]["messages"][0]["content"] == (
        "JUDGE Which colour?|no such page|so \\boxed{none}|none"
    )
    assert (model.requests[0]["max_completion_tokens"], model.requests[0]["reasoning_effort"]) == (
        4096,
        "medium",
    )
    # No JSON from the first brace to the last, so the first number that follows a label directly counts.
    assert (verdict.score, verdict.votes[0].fallback) == (0, "lenient_verdict")


def test_the_digests_of_the_checkouts_prompts_are_recorded(settings, tmp_path):
    with opened(settings(), tmp_path) as evaluators:
        assert {"upstream/harness.py", "upstream/qa_eval_metrics.py"} < set(evaluators.prompt_digests)
        assert "agent_prompt.md.j2" in evaluators.prompt_digests
        assert not [one for one in evaluators.prompt_digests if one.startswith(("reader_", "judge_"))]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"upstream": None}, "RUNBOOK_UPSTREAM"),
        ({"votes": 3}, "one vote"),
        ({"repeats": "reader=2"}, "one repeat"),
        ({"token_counter": "estimate"}, "exactly"),
        ({"preprocessor": None}, "preprocessor_config"),
    ],
)
def test_what_the_official_profile_does_not_allow_is_a_mistake(settings, changed, complaint):
    with pytest.raises(Mistake, match=complaint):
        refuse_unofficial(settings(**changed))
    refuse_unofficial(settings(**changed, profile="fixed"))


def test_a_folder_that_is_no_checkout_is_a_mistake(settings, tmp_path):
    (tmp_path / "empty").mkdir()
    with (
        pytest.raises(Mistake, match=r"--upstream: .*evaluation\.harness cannot be imported"),
        opened(settings(upstream=tmp_path / "empty"), tmp_path),
    ):
        pass
