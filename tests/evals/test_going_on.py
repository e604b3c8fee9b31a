"""A run goes on with what it began with, past its gates where it is told to, and says when all failed."""

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from evals.runs.config import RunConfig
from evals.runs.folder import RunFailure, RunFolder
from evals.runs.records import ReadingRecord
from evals.runs.summary import summarise
from runbook.cli.failures import Mistake
from runbook.cli.places import Place
from runbook.cli.preparing import prepare
from runbook.cli.running import resume, start
from runbook.cli.unchanged import refuse_changed_agent
from runbook.endpoint.config import EndpointConfig


@pytest.fixture
def settings(data_root: Path, tmp_path: Path, model: Any) -> dict[str, Any]:
    """Of a run that only reads."""
    reader = EndpointConfig(model="m", base_url=model.url, retry_seconds=0.1, backoff_seconds=0.01)
    kept = {"data": data_root, "store": tmp_path / "store", "memory": "none", "concurrency": 1}
    return kept | {"reader": reader}


def begin(settings: dict[str, Any], out: Path, **more: Any) -> RunFolder:
    start(prepare(RunConfig(**settings, **more)), Place.named(out), Console(file=io.StringIO()))
    return RunFolder.open(out)


def go_on(run: RunFolder, **more: Any) -> dict[str, Any]:
    resume(run.path, "infrastructure", force=False, console=Console(file=io.StringIO()), **more)
    return summarise(RunFolder.open(run.path))


def forget_a_reading(run: RunFolder) -> None:
    for file in run.question_folder("q-0").glob("*.json"):
        if not file.name.startswith("query"):
            file.unlink()


def test_a_prompt_that_changed_is_refused_and_nothing_is_written(
    settings: dict[str, Any], tmp_path: Path, model: Any
) -> None:
    model.says(r"\boxed{CODE-0-2}")
    run = begin(settings, tmp_path / "run")
    forget_a_reading(run)
    assert go_on(run)["coverage"] == 1.0, "with the same prompts it goes on"
    forget_a_reading(run)
    record = orjson.loads((run.path / "run.json").read_bytes())
    record["prompt_digests"]["reader_system.md.j2"] = "0" * 64
    (run.path / "run.json").write_bytes(orjson.dumps(record))
    with pytest.raises(Mistake, match=r"reader_system\.md\.j2 changed since the run began: start a new run"):
        go_on(run)
    assert run.records("q-0", ReadingRecord) == []


def test_an_agent_that_changed_is_refused(settings: dict[str, Any], tmp_path: Path, model: Any) -> None:
    model.says("x")
    record = begin(settings, tmp_path / "run").record()
    began = record.model_copy(update={"versions": {"codex": "0.1 abc"}})
    refuse_changed_agent(began, {"codex": "0.1 abc"})
    refuse_changed_agent(record, {"codex": "0.1 abc"})
    with pytest.raises(Mistake, match=r"agent codex is 0\.2 abc .* began with 0\.1 abc"):
        refuse_changed_agent(began, {"codex": "0.2 abc"})


def test_a_closed_gate_opens_for_a_resume_that_is_told_so(
    settings: dict[str, Any], tmp_path: Path, model: Any, answer: Any, saying: Any
) -> None:
    bad = answer({"error": {"message": "too long"}}, status=413)
    model.answers = [answer(saying("ready")), bad]
    with pytest.raises(RunFailure, match="--no-gates"):
        begin(settings, tmp_path / "run", gates=(1,))
    run = RunFolder.open(tmp_path / "run")
    model.requests.clear()
    model.answers = [bad, answer(saying(r"\boxed{CODE}"))]
    with pytest.raises(RunFailure, match="--no-gates"):
        go_on(run)
    model.requests.clear()
    model.answers = [bad, answer(saying(r"\boxed{CODE}"))]
    assert go_on(run, no_gates=True)["outcomes"] == {"ok": 2, "reader_error": 1}


def test_a_run_without_any_answer_is_a_failure(
    settings: dict[str, Any], tmp_path: Path, model: Any, answer: Any, saying: Any
) -> None:
    model.answers = [answer(saying("ready")), answer({"error": {"message": "too long"}}, status=413)]
    with pytest.raises(RunFailure, match="no question has an answer, the first ended in reader_error"):
        begin(settings, tmp_path / "run", gates=())
    assert summarise(RunFolder.open(tmp_path / "run"))["outcomes"] == {"reader_error": 3}
