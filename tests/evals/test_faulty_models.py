"""A reader or judge whose server misbehaves costs at most its question, and what passes costs nothing."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evals.recorded import read_run
from evals.runs.folder import RunFolder
from evals.runs.revising import revised
from evals.runs.summary import summarise
from runbook.cli.evaluating_again import evaluate_again
from runbook.endpoint.config import EndpointConfig
from tests.recorded_runs import Answer, write_run
from tests.waiting import AT_ONCE

VERDICT = '{"label": 1, "reason": "covers the point"}'


@pytest.fixture
def run(data_root: Path, tmp_path: Path) -> RunFolder:
    """Three questions of gotchas, asked one at a time."""
    rows = [json.loads(line) for line in (data_root / "questions.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {"question_type": "errors-gotchas", "eval_function": "llm_gotchas_checker"}
    (data_root / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = {f"q-{n}": Answer(score=0, evaluator="llm_gotchas_checker") for n in range(3)}
    return write_run(tmp_path / "run", data_root, answers, concurrency=1, gates=())


@pytest.fixture
def faults(answer: Callable[..., Any], saying: Callable[..., Any]) -> dict[str, list[Any]]:
    """What a server answers before it comes to its senses."""
    whole = json.dumps(saying(VERDICT)).encode()
    limited = answer({"error": {"message": "slow down"}}, status=429, headers={"retry-after": "0"})
    return {
        "null choices": [answer({"id": "c", "choices": None})],
        "half a body": [answer(whole[:40])],
        "a broken connection": [answer(whole[:40], promised=len(whole))],
        "a storm of 429": [limited] * 6,
        "an error with status 200": [answer({"error": {"code": 503, "message": "overloaded"}})],
        "a refusal": [answer({"error": {"message": "too long"}}, status=413)],
        "empty content": [answer(saying(""))],
        "no content": [answer(saying(None))],
        "reasoning alone": [answer(saying(None, reasoning="I think so"))],
    }


PASSING = ("null choices", "half a body", "a broken connection", "a storm of 429", "an error with status 200")
LASTING_FOR_READERS = ("a refusal", "empty content", "no content", "reasoning alone")


def again(run: RunFolder, **endpoints: Any) -> dict[str, Any]:
    evaluate_again(run.path, revised(run.record(), 0, **endpoints), Console(file=io.StringIO()))
    return summarise(RunFolder.open(run.path))


@pytest.fixture
def endpoint(model: Any) -> EndpointConfig:
    return EndpointConfig(model="m", base_url=model.url, retry_seconds=AT_ONCE, backoff_seconds=0.01)


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_costs_a_reader_nothing_but_requests(
    fault: str,
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    faults: dict[str, list[Any]],
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    good = answer(saying(VERDICT))
    ready = [good, good]  # the tiny requests before anything is spent
    model.answers = [*ready, *faults[fault], good]
    summary = again(run, reader=endpoint, judge=endpoint)
    assert (summary["outcomes"], summary["coverage"]) == ({"ok": 3}, 1.0)
    calls = [one.reading.reading.calls for one in read_run(run.path).results.values()]
    assert sorted(calls) == [1, 1, 1 + len(faults[fault])]


@pytest.mark.parametrize("fault", LASTING_FOR_READERS)
def test_what_lasts_costs_a_reader_its_question(
    fault: str,
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    faults: dict[str, list[Any]],
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    good = answer(saying(VERDICT))
    model.answers = [good, good, *faults[fault], good]
    summary = again(run, reader=endpoint, judge=endpoint)
    assert summary["outcomes"] == {"ok": 2, "reader_error": 1}


@pytest.mark.parametrize("fault", [*PASSING, "empty content", "no content", "reasoning alone"])
def test_what_passes_costs_a_judge_nothing_but_requests(
    fault: str,
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    faults: dict[str, list[Any]],
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    good = answer(saying(VERDICT))
    model.answers = [good, *faults[fault], good]
    summary = again(run, judge=endpoint, votes=3)
    assert (summary["outcomes"], summary["accuracy"]["strict"]) == ({"ok": 3}, 1.0)
    assert len(model.requests) == 1 + 9 + len(faults[fault])
