"""Records that somebody edited: what cannot be is refused in one line that names the file."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.frontier.frontier import frontier
from evals.recorded import gold_of_run, read_run
from evals.report.loading import load
from evals.runs.folder import RunError, RunFolder
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run


@pytest.fixture
def run(tmp_path: Path, data_root: Path) -> RunFolder:
    answers = {f"q-{n}": Answer(score=1, seconds=10.0, spans=((f"tr-{n}", 2, 2),)) for n in range(3)}
    return write_run(tmp_path / "run", data_root, answers)


def edit(file: Path, change: Callable[[Any], object]) -> None:
    record = json.loads(file.read_text())
    change(record)
    file.write_text(json.dumps(record))


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), -1e308])
@pytest.mark.parametrize("place", ["seconds", "attempt", "view", "reading", "verdict"])
def test_a_duration_that_cannot_be_is_refused(run: RunFolder, place: str, seconds: float) -> None:
    places: dict[str, tuple[str, Callable[[Any], object]]] = {
        "seconds": ("query", lambda one: one["result"].update(seconds=seconds)),
        "attempt": ("query", lambda one: one["result"]["attempts"][0].update(seconds=seconds)),
        "view": ("query", lambda one: one.update(view_seconds=seconds)),
        "reading": ("reading", lambda one: one["reading"].update(seconds=seconds)),
        "verdict": ("verdict", lambda one: one["verdict"].update(judge_seconds=seconds)),
    }
    stage, change = places[place]
    file = run.question_folder("q-1") / f"{stage}.1.json"
    edit(file, change)
    with pytest.raises(RunError, match=r"seconds: .*move it away") as caught:
        read_run(run.path)
    assert str(file) in str(caught.value)
    assert "one question are damaged" in load(run.path, "A").notes[0]


@pytest.mark.parametrize("hit", [1.5, -0.5, float("nan")])
def test_a_share_that_is_none_is_refused(run: RunFolder, hit: float) -> None:
    edit(run.question_folder("q-1") / "query.1.json", lambda one: one["evidence_recall"].update(hit=hit))
    with pytest.raises(RunError, match=r"evidence_recall\.hit"):
        read_run(run.path)


def test_a_run_that_names_a_question_twice_is_refused(run: RunFolder) -> None:
    edit(run.path / "run.json", lambda one: one.update(questions=["q-1", "q-0", "q-1"]))
    with pytest.raises(RunError, match=r"run\.json cannot be read: questions: a question stands there twice"):
        read_run(run.path)


@pytest.mark.parametrize(("key", "value"), [("tier_questions", 0), ("tier_questions", -3), ("questions", [])])
def test_a_run_of_no_questions_is_refused(run: RunFolder, key: str, value: object) -> None:
    edit(run.path / "run.json", lambda one: one.update({key: value}))
    with pytest.raises(RunError, match=rf"run\.json cannot be read: {key}: must"):
        read_run(run.path)


def test_a_pipe_in_the_place_of_a_record_is_refused_and_not_waited_for(run: RunFolder) -> None:
    file = run.question_folder("q-1") / "query.1.json"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(RunError, match="a pipe"):
        read_run(run.path)
    settings = run.path / "run.json"
    settings.unlink()
    os.mkfifo(settings)
    with pytest.raises(RunError):
        read_run(run.path)


def test_latencies_of_0_for_most_questions_have_an_interval_nevertheless(tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=12, trajectories=12)
    answers = {f"q-{n}": Answer(score=int(n % 3 > 0), seconds=0.0 if n else 30.0) for n in range(12)}
    found = read_run(write_run(tmp_path / "zero", root, answers).path)
    gold, _ = gold_of_run(found)
    built = frontier([found], "small", gold)
    assert built.gain_interval is not None
    assert built.gain is not None
    assert built.gain_interval.low <= built.gain <= built.gain_interval.high
