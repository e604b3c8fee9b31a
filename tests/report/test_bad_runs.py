"""Runs that are empty, half finished, damaged, of another version, or lack gold, traces or their data."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evals.report.write import write_folder, write_report
from evals.runs.folder import RunError, RunFolder
from runbook.outcomes import Outcome
from runbook.traces import Kind, Source, TraceEvent
from tests.recorded_runs import Answer, write_run
from tests.report.building import RunBuilder, Told, pictured_root
from tests.waiting import FOREVER


def text_of(paths: list[Path], out: Path) -> str:
    """The report's text and nothing else of it."""
    write_report(paths, out)
    return out.read_text()


def test_an_empty_run_is_reported_as_one(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    text = text_of([run.path], tmp_path / "report.html")
    assert "No question has been asked yet." in text
    assert text.count('<details class="q"') == 3


def test_a_half_finished_run_shows_what_there_is(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-1": Answer(score=1, spans=(("tr-1", 2, 2),))})
    text = text_of([run.path], tmp_path / "report.html")
    assert "2 of 3 questions have not been asked yet." in text
    assert "Not asked yet." in text


def test_a_run_of_another_version_is_refused_in_one_line(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    record = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**record, "format": 99}))
    with pytest.raises(RunError, match="format 99"):
        write_report([run.path], tmp_path / "report.html")


def test_a_damaged_record_costs_its_question_only(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    (run.question_folder("q-2") / "query.1.json").write_text("{")
    text = text_of([run.path], tmp_path / "report.html")
    assert "The records of one question are damaged and left out" in text
    assert text.count('<details class="q"') == 7


def test_without_gold_nothing_is_said_of_it(tmp_path: Path) -> None:
    root = pictured_root(tmp_path / "data", questions=3)
    (root / "gold.json").unlink()
    run = write_run(tmp_path / "run", root, {"q-1": Answer(score=1)})
    text = text_of([run.path], tmp_path / "report.html")
    assert "The data has no gold evidence" in text
    assert 'class="missed"' not in text


def test_where_the_data_is_gone_the_question_is_the_one_the_agent_got(
    world: RunBuilder, tmp_path: Path
) -> None:
    data = shutil.copytree(world.data_root, tmp_path / "data")
    run = RunBuilder(data, world.store, commands=2).write(tmp_path / "run")
    shutil.rmtree(data)
    text = text_of([run.path], tmp_path / "report.html")
    assert "Questions are shown as the agent got them" in text
    assert "Which access code does the page of warehouse 1 show" in text


def test_where_the_store_is_gone_the_rest_is_there(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    record = json.loads((run.path / "run.json").read_text())
    record["config"]["store"] = str(tmp_path / "gone")
    (run.path / "run.json").write_text(json.dumps(record))
    text = text_of([run.path], tmp_path / "report.html")
    assert "The run&#39;s store is not where it was" in text
    assert "data:image/" not in text
    assert not (tmp_path / "gone").exists()


def test_a_screenshot_that_changed_since_is_not_shown(world: RunBuilder, tmp_path: Path) -> None:
    store = shutil.copytree(world.store, tmp_path / "store")
    run = RunBuilder(world.data_root, store, commands=2).write(tmp_path / "run")
    for shot in store.rglob("screenshots/*.png"):
        data = shot.read_bytes()
        shot.unlink()
        shot.write_bytes(data + b" ")
    assert "data:image/" not in text_of([run.path], tmp_path / "report.html")


def test_without_traces_attempts_have_no_timeline(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    for trace in run.path.rglob("trace.jsonl"):
        trace.unlink()
    text = text_of([run.path], tmp_path / "report.html")
    assert "No trace was kept." in text


def test_a_damaged_trace_is_named(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run")
    (run.attempts_folder("q-1") / "1" / "trace.jsonl").write_bytes(b"\xff\xfe{nothing\n")
    assert "The trace cannot be read" in text_of([run.path], tmp_path / "report.html")


def test_two_runs_without_a_common_question_stand_beside_each_other(tmp_path: Path) -> None:
    one, other = (pictured_root(tmp_path / name, questions=2) for name in ("one", "other"))
    rows = (other / "questions.jsonl").read_text().replace('"q-', '"other-')
    (other / "questions.jsonl").write_text(rows)
    for name in ("haystacks/lme_v2_small.json", "gold.json"):
        (other / name).write_text((other / name).read_text().replace('"q-', '"other-'))
    a = write_run(tmp_path / "a", one, {"q-0": Answer(score=1)})
    b = write_run(tmp_path / "b", other, {"other-0": Answer(score=0)})
    text = text_of([a.path, b.path], tmp_path / "report.html")
    assert "The two runs have no question in common" in text
    assert text.count('<details class="q"') == 4


def test_without_a_reader_there_is_no_accuracy(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(spans=(("tr-0", 2, 2),))})
    text = text_of([run.path], tmp_path / "report.html")
    assert "Right answers" not in text
    assert "Nobody read the context." in text


def test_failures_are_named(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(outcome=Outcome.TIMEOUT)})
    text = text_of([run.path], tmp_path / "report.html")
    assert '<span class="state method">timeout</span>' in text
    assert "No valid evidence was handed in." in text


def test_an_attempt_of_200_000_events_is_bounded(world: RunBuilder, tmp_path: Path) -> None:
    run = world.write(tmp_path / "run", limit=1)
    event = TraceEvent(kind=Kind.MESSAGE, source=Source.STREAM, at=1.0, role="assistant", text="on and on")
    line = event.model_dump_json(exclude_defaults=True) + "\n"
    (run.attempts_folder("q-0") / "1" / "trace.jsonl").write_text(line * 200_000)
    written = write_report([run.path], tmp_path / "report.html")
    assert written.bytes < 400_000
    assert "199\u202f940 steps between" in (tmp_path / "report.html").read_text()


def test_a_full_folder_holds_whole_texts_and_whole_screenshots(world: RunBuilder, tmp_path: Path) -> None:
    long = "word " * 20_000
    run = world.write(tmp_path / "run", told={"q-0": Told(item=long, outcome=Outcome.OK)})
    write_folder([run.path], tmp_path / "full")
    (page,) = (tmp_path / "full" / "questions").glob("q-q-0-*.html")
    assert long.strip() in page.read_text()
    shots = list((tmp_path / "full" / "screenshots").iterdir())
    assert shots
    assert all(f"../screenshots/{name.name}" for name in shots)
    with pytest.raises(FileExistsError):
        write_folder([run.path], tmp_path / "full")


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from runbook.cli import main; main()", "report"]
    return subprocess.run(
        [*program, *map(str, arguments)], capture_output=True, text=True, timeout=FOREVER, check=False
    )


def test_the_command_says_what_it_wrote_and_complains_in_one_line(world: RunBuilder, tmp_path: Path) -> None:
    run: RunFolder = world.write(tmp_path / "run", limit=2)
    done = report(run.path, "-o", tmp_path / "report.html")
    assert done.returncode == 0
    assert "2 questions" in done.stderr
    for wrong in ([run.path], [tmp_path / "none", "-o", tmp_path / "x.html"], [run.path, "-o", tmp_path]):
        failed = report(*wrong)
        assert failed.returncode == 2
        assert failed.stderr.startswith("error: ")
        assert failed.stderr.count("\n") == 1
