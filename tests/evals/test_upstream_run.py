"""The code of a real checkout of the public harness: it runs with us, and asks models what we ask them."""

import hashlib
import json
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from evals.aggregate import ScoredQuestion, aggregated_metrics
from evals.dataset import load_data_root
from evals.export.rows import as_counted_publicly
from evals.official.backend import Backend
from evals.official.launcher import HarnessRun, importable, launch, part
from evals.runs.config import RunConfig
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import View, Views
from runbook.cli.evaluators import open_evaluators
from runbook.context import ImageItem, MemoryContext, TextItem
from runbook.endpoint.usage import Usage
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome

RIGHT = '{"label": 1, "reason": "names it"}'


class _Processor:
    """Stands for the model's own processor, which only its owner's servers have: a token is a word."""

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return " ".join(part.get("text", "image") for part in messages[0]["content"])

    def __call__(self, *, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": Namespace(shape=(1, len(text.split())))}


class _AutoProcessor:
    @staticmethod
    def from_pretrained(_name: str) -> _Processor:
        return _Processor()


class _Memory:
    """Answers with a note that names what was asked."""

    name = "noting"

    def insert(self, haystack: View) -> None:
        pass

    def query(self, task: QueryTask) -> QueryResult:
        note = TextItem(text=f"note for: {task.question.text}")
        return QueryResult(outcome=Outcome.OK, seconds=1.0, context=MemoryContext(items=(note,)))


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    named = os.environ.get("RUNBOOK_UPSTREAM")
    if not named:
        pytest.skip("RUNBOOK_UPSTREAM names no checkout of the public harness")
    stand_in = ModuleType("transformers")
    stand_in.AutoProcessor = _AutoProcessor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", stand_in)
    before = set(sys.modules)
    yield Path(named)
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("memory_modules", "data", "evaluation"):
            del sys.modules[name]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_real_harness_runs_to_its_end(
    checkout: Path, data_root: Path, tmp_path: Path, model: Any, workers: int
) -> None:
    model.says(*[f"\\boxed{{CODE-{n}-2}}" for n in range(2)], "\\boxed{UNKNOWN}")
    store = Store.open(tmp_path / "store")
    slugs = import_lme_v2(data_root, store).slugs
    haystacks = load_data_root(data_root).haystacks
    # Haystacks that differ: the harness then refuses memories that it does not know more than one worker.
    own = {one: list(ids[: 3 + number % 2]) for number, (one, ids) in enumerate(haystacks.items())}
    (data_root / "haystacks" / "lme_v2_small.json").write_text(json.dumps(own))
    backend = Backend(_Memory(), Views(store).acquire, slugs, frozenset(map(frozenset, own.values())))
    run = HarnessRun(
        data=data_root,
        domain="web",
        tier="small",
        out=tmp_path / "ours_web_small",
        arguments=("--model", "Qwen/Qwen3.5-9B", "--base-url", model.url),
        workers=workers,
    )
    launch(checkout, run, backend)
    metrics = json.loads((run.out / "aggregated_metrics.json").read_text())
    assert metrics["overall"]["count_all_questions"] == 3
    rows = [json.loads(line) for line in (run.out / "per_question.jsonl").read_text().splitlines()]
    assert [row["question_id"] for row in rows] == ["q-0", "q-1", "q-2"]
    assert all(row["memory_context"][0]["value"].startswith("note for: ") for row in rows)
    assert len(list((run.out / "traces").glob("*/query.json"))) == 3
    ours = aggregated_metrics([_scored(row) for row in rows])
    assert set(metrics) - set(ours) == {"completed_at_utc", "shared_haystack"}
    for section, figures in _flat(ours).items():
        assert figures == pytest.approx(_flat(metrics)[section]), section


@pytest.fixture
def official(checkout: Path, tmp_path: Path, model: Any) -> RunConfig:
    preprocessor = tmp_path / "preprocessor_config.json"
    preprocessor.write_text(
        json.dumps({"patch_size": 16, "merge_size": 2, "min_pixels": 65536, "max_pixels": 16777216})
    )
    endpoint = {"model": "Qwen/Qwen3.5-9B", "base_url": model.url}
    return RunConfig.model_validate(
        {
            "data": "data",
            "store": "store",
            "reader": endpoint,
            "judge": endpoint | {"model": "gpt-5.2"},
            "profile": "official",
            "upstream": checkout,
            "token_counter": "endpoint",
            "preprocessor": preprocessor,
        }
    )


@pytest.mark.parametrize("domain", ["web", "enterprise"])
@pytest.mark.parametrize("empty", [True, False])
def test_the_reader_is_sent_what_the_harness_sends(
    checkout: Path,
    official: RunConfig,
    tmp_path: Path,
    model: Any,
    make_question: Callable[..., Any],
    answer: Callable[..., Any],
    saying: Callable[..., Any],
    domain: str,
    empty: bool,
) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / "one.png")
    question = make_question(domain=domain, image=tmp_path / "one.png")
    image = _image(tmp_path / "one.png")
    items = () if empty else (TextItem(text="a\u2028note"), image, TextItem(text="more"))
    model.answers = [*([] if empty else [answer({"count": 9})]), answer(saying("\\boxed{red}"))]
    with open_evaluators(official, tmp_path, Console(quiet=True), threading.Event()) as evaluators:
        assert evaluators.reader is not None
        evaluators.reader.read(question, MemoryContext(items=items))
    with importable(checkout):
        harness = part(checkout, "evaluation.harness")
    messages, _ = harness.build_messages(
        system_prompt=harness.get_system_prompt(domain),
        question_text=question.question,
        image_path=str(question.image),
        memory_context=[
            {"type": "text", "value": one.text}
            if isinstance(one, TextItem)
            else {"type": "image", "value": one.path}
            for one in items
        ],
    )
    expected = harness.build_reader_request(_arguments(model.url), messages)
    expected |= expected.pop("extra_body")
    del expected["timeout"]
    assert model.requests[-1] == expected


@pytest.mark.parametrize(
    ("evaluator", "kind"),
    [("llm_abstention_checker", "static-environment-abs"), ("llm_gotchas_checker", "errors-gotchas")],
)
def test_the_judge_is_sent_what_the_harness_sends(
    checkout: Path,
    official: RunConfig,
    tmp_path: Path,
    model: Any,
    make_question: Callable[..., Any],
    evaluator: str,
    kind: str,
) -> None:
    model.says(RIGHT)
    response = "No page\n\\boxed{none of \u2028them}"
    question = make_question(
        question_type=kind, eval_function=evaluator, answer=" the gold ", question=" Why? "
    )
    with open_evaluators(official, tmp_path, Console(quiet=True), threading.Event()) as evaluators:
        assert evaluators.judge is not None
        assert evaluators.judge.judge(question, response).score == 1
    with importable(checkout):
        metrics = part(checkout, "evaluation.qa_eval_metrics")
    theirs = metrics.eval_from_spec(
        evaluator,
        response,
        question.answer,
        question_item={"question": question.question},
        parsed_prediction=metrics.extract_boxed_answer(response),
        model_response=response,
        evaluator_model="gpt-5.2",
        evaluator_base_url=model.url,
        evaluator_reasoning_effort="medium",
        evaluator_max_completion_tokens=4096,
    )
    assert theirs is True
    ours, expected = model.requests
    assert ours == expected


def _scored(row: dict[str, Any]) -> ScoredQuestion:
    """A line of the harness, as our aggregates take a question."""
    scored = ScoredQuestion(
        question_type=row["question_type"],
        evaluator=row["eval_function"].partition("|")[0],
        score=int(row["score"]),
        unknown=row["is_unknown"],
        usage=Usage(**row["usage"]),
        original_tokens=row["memory_context_original_token_count"],
        final_tokens=row["memory_context_token_count"],
        truncated=row["memory_context_was_truncated"],
        query_seconds=row["memory_query_duration_seconds"],
        post_query_seconds=row["memory_post_query_duration_seconds"],
    )
    return as_counted_publicly(scored)


def _flat(metrics: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The figures of each section, those of sections within sections apart."""
    flat: dict[str, dict[str, Any]] = {}
    for name, section in metrics.items():
        if isinstance(section, dict):
            inner = {key: value for key, value in section.items() if isinstance(value, dict)}
            flat |= {f"{name}.{key}": value for key, value in inner.items()}
            flat[name] = {key: value for key, value in section.items() if key not in inner}
    return flat


def _image(path: Path) -> ImageItem:
    return ImageItem(path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def _arguments(url: str) -> Namespace:
    """What the public runner gives its harness."""
    return Namespace(
        model="Qwen/Qwen3.5-9B",
        base_url=url,
        timeout_seconds=1,
        max_completion_tokens=20_000,
        reasoning_effort=None,
        temperature=0.6,
        top_p=0.95,
        top_k=20,
        presence_penalty=None,
        repetition_penalty=None,
        reader_enable_thinking=True,
    )
