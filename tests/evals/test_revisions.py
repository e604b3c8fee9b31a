"""A later reader or judge makes new records beside the old ones; nothing is rewritten, both can be seen."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evals.recorded import read_run
from evals.runs.folder import RunError, RunFailure, RunFolder
from evals.runs.revising import change_of, revised
from evals.runs.summary import summarise
from runbook.cli.evaluating_again import evaluate_again
from runbook.cli.failures import Mistake
from runbook.endpoint.config import EndpointConfig
from runbook.files import write_json
from runbook.outcomes import Outcome
from tests.recorded_runs import Answer, write_run
from tests.waiting import AT_ONCE

RIGHT = '{"label": 1, "reason": "names the flaw"}'
WRONG = '{"label": 0, "reason": "goes along with it"}'


@pytest.fixture
def run(data_root: Path, tmp_path: Path) -> RunFolder:
    """Three questions, the first two for a judge, which has found all of them right."""
    rows = [json.loads(line) for line in (data_root / "questions.jsonl").read_text().splitlines()]
    for row in rows[:2]:
        row |= {"question_type": "static-environment-abs", "eval_function": "llm_abstention_checker"}
    (data_root / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = {f"q-{n}": Answer(score=1, evaluator="llm_abstention_checker") for n in range(2)}
    return write_run(tmp_path / "run", data_root, asked | {"q-2": Answer(score=1)})


@pytest.fixture
def endpoint(model: Any) -> EndpointConfig:
    return EndpointConfig(model="new", base_url=model.url, retry_seconds=AT_ONCE, backoff_seconds=0.01)


def again(run: RunFolder, **changes: Any) -> RunFolder:
    now = revised(run.record(), run.latest_revision(), **changes)
    evaluate_again(run.path, now, Console(file=io.StringIO()))
    return RunFolder.open(run.path)


def gated(run: RunFolder, *gates: int) -> None:
    """Have the run stop after so many questions where infrastructure failed."""
    record = run.record()
    config = record.config.model_copy(update={"gates": gates, "concurrency": 1})
    write_json(run.path / "run.json", record.model_copy(update={"config": config}))


def contents(run: RunFolder) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.path.rglob("*.json")}


def test_a_new_judge_judges_beside_the_old_one(run: RunFolder, model: Any, endpoint: EndpointConfig) -> None:
    model.says(WRONG)
    before = contents(run)
    new = again(run, judge=endpoint)
    assert summarise(new)["accuracy"]["strict"] == pytest.approx(1 / 3), "the matcher's question stays right"
    assert summarise(new)["judge"] == "new"
    old = RunFolder.open(run.path.with_name("run@0"))
    assert (summarise(old)["accuracy"]["strict"], summarise(old)["judge"]) == (1.0, "gpt-5.2")
    after = contents(run)
    assert {path: after[path] for path in before} == before, "nothing was rewritten"
    added = sorted(path.name for path in after.keys() - before.keys() if "votes" not in path.parts)
    assert added == ["run.1.json", "verdict.2.json", "verdict.2.json"]


def test_how_two_judges_differ_is_told_by_kappa_and_a_list(
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    ready = answer(saying("ready"))
    model.answers = [ready, answer(saying(RIGHT)), answer(saying(WRONG))]
    before = read_run(run.path)
    again(run, judge=endpoint)
    change = change_of(before.results, read_run(run.path).results)
    assert (change.agreement.count, change.agreement.agreed, change.agreement.kappa) == (2, 1, 0.0)
    (differing,) = change.disagreements
    assert (differing.before, differing.after, differing.reason_after) == (1, 0, "goes along with it")


def test_more_votes_of_the_same_judge_are_a_revision_too(
    run: RunFolder, model: Any, endpoint: EndpointConfig
) -> None:
    model.says(RIGHT)
    again(run, judge=endpoint)
    new = again(run, votes=3)
    assert new.record().revision == 2
    verdict = read_run(run.path).results["q-0"].verdict
    assert verdict is not None
    assert verdict.verdict is not None
    assert [vote.cached for vote in verdict.verdict.votes] == [True, False, False], "one was paid for before"


def test_a_new_reader_reads_the_recorded_contexts_and_is_judged(
    run: RunFolder, model: Any, endpoint: EndpointConfig
) -> None:
    model.says(RIGHT)  # as an answer it is wrong, as a verdict it is right
    before = contents(run)
    new = again(run, reader=endpoint, judge=endpoint)
    results = read_run(new.path).results
    assert {one.reading.k for one in results.values() if one.reading} == {2}
    assert {one.score for one in (results["q-0"], results["q-1"])} == {1}
    assert results["q-2"].score == 0
    assert all(contents(run)[path] == content for path, content in before.items())


def test_a_judge_that_fails_once_costs_that_question_only(
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    ready = answer(saying("ready"))
    bad = answer({"error": {"message": "too long"}}, status=413)
    model.answers = [ready, bad, answer(saying(RIGHT))]
    now = revised(run.record(), 0, judge=endpoint)
    now = now.model_copy(update={"config": now.config.model_copy(update={"gates": ()})})
    evaluate_again(run.path, now, Console(file=io.StringIO()))
    assert summarise(RunFolder.open(run.path))["outcomes"] == {"judge_error": 1, "ok": 2}


def test_a_judge_that_refuses_a_parameter_is_told_before_anything_is_written(
    run: RunFolder, model: Any, endpoint: EndpointConfig, answer: Callable[..., Any]
) -> None:
    model.answers = [answer({"error": {"message": "unsupported parameter: reasoning_effort"}}, status=400)]
    before = contents(run)
    with pytest.raises(Mistake, match=r"reasoning_effort.*judge\.sampling\.drop|reader\.sampling\.drop"):
        again(run, reader=endpoint, judge=endpoint)
    assert contents(run) == before


def refusing(answer: Callable[..., Any], saying: Callable[..., Any]) -> list[Any]:
    """A judge that is ready, and then refuses every request."""
    return [answer(saying("ready")), answer({"error": {"message": "too long"}}, status=413)]


def test_a_revision_that_a_gate_stopped_is_not_current_and_is_gone_on_with(
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    gated(run, 1)
    model.answers = refusing(answer, saying)
    with pytest.raises(RunFailure, match=r"judge_error.*--no-gates"):
        again(run, judge=endpoint)
    assert summarise(RunFolder.open(run.path))["accuracy"]["strict"] == 1.0, "as before"
    model.says(WRONG)
    new = again(run, judge=endpoint)
    assert new.record().revision == 1, "it was gone on with"
    assert summarise(new)["accuracy"]["strict"] == pytest.approx(1 / 3)


def test_what_an_abandoned_revision_recorded_is_nobodys(
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    gated(run, 1)
    model.answers = [answer(saying("ready")), *refusing(answer, saying)]
    with pytest.raises(RunFailure):
        again(run, reader=endpoint, judge=endpoint)
    before = {one.question_id: one.reading for one in read_run(run.path).results.values()}
    model.says(RIGHT)
    new = again(run, judge=endpoint.model_copy(update={"model": "another"}))
    assert new.record().revision == 2
    assert {one.question_id: one.reading for one in read_run(new.path).results.values()} == before


def test_the_gates_of_a_run_can_be_left_open(
    run: RunFolder,
    model: Any,
    endpoint: EndpointConfig,
    answer: Callable[..., Any],
    saying: Callable[..., Any],
) -> None:
    gated(run, 1)
    model.answers = [*refusing(answer, saying), answer(saying(RIGHT))]
    now = revised(run.record(), 0, judge=endpoint)
    evaluate_again(run.path, now, Console(file=io.StringIO()), no_gates=True)
    assert summarise(RunFolder.open(run.path))["outcomes"] == {"judge_error": 1, "ok": 2}


def test_a_revision_without_any_verdict_is_not_current(
    data_root: Path, tmp_path: Path, model: Any, endpoint: EndpointConfig, answer: Any, saying: Any
) -> None:
    rows = [json.loads(line) for line in (data_root / "questions.jsonl").read_text().splitlines()]
    rows = [row | {"question_type": "errors-gotchas", "eval_function": "llm_gotchas_checker"} for row in rows]
    (data_root / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = {f"q-{n}": Answer(score=1, evaluator="llm_gotchas_checker") for n in range(3)}
    run = write_run(tmp_path / "run", data_root, answers, gates=())
    model.answers = refusing(answer, saying)
    with pytest.raises(RunFailure, match="stays what it was: no question has an answer"):
        again(run, judge=endpoint)
    assert summarise(RunFolder.open(run.path))["accuracy"]["strict"] == 1.0


def test_a_query_that_failed_long_ago_closes_no_gate_for_a_judge(
    data_root: Path, tmp_path: Path, model: Any, endpoint: EndpointConfig
) -> None:
    answers = {f"q-{n}": Answer(score=1, evaluator="llm_gotchas_checker") for n in range(2)}
    old = {"q-2": Answer(outcome=Outcome.PROVIDER_ERROR)}
    run = write_run(tmp_path / "old", data_root, answers | old, gates=(1, 2))
    model.says(RIGHT)
    assert again(run, judge=endpoint).record().revision == 1


def test_a_runs_own_judge_is_asked_anew_when_it_is_named_again(
    run: RunFolder, model: Any, endpoint: EndpointConfig
) -> None:
    model.says(RIGHT)
    again(run, judge=endpoint)
    asked = len(model.requests)
    again(run, judge=endpoint)
    assert len(model.requests) - asked == 1 + 2, "the tiny request, and two verdicts"
    votes = [one.verdict.verdict.votes for one in read_run(run.path).results.values() if one.verdict]
    assert not any(vote.cached for found in votes for vote in found)


def test_only_the_latest_revision_can_be_worked_on(run: RunFolder) -> None:
    with pytest.raises(RunError, match="no revision 7, its latest is 0"):
        RunFolder.open(run.path.with_name("run@7"))
    with pytest.raises(RunError, match="can only be looked at"), RunFolder(run.path, 0).locked():
        pass


def test_a_folder_whose_name_has_the_sign_is_still_a_run(run: RunFolder) -> None:
    named = run.path.with_name("run@7")
    run.path.rename(named)
    assert RunFolder.open(named).path == named
