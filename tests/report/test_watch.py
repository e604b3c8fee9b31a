"""A run that is watched: from its files alone, and never disturbed."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from evals.live import LiveRun
from evals.runs.folder import RunError, RunFolder
from runbook.gateway.records import ModelCall, ToolCall, Wire
from runbook.outcomes import Outcome
from tests.recorded_runs import Answer, write_run
from tests.waiting import AT_ONCE


def running(folder: RunFolder, question: str, number: int = 1) -> Path:
    """An attempt that has begun."""
    place = folder.attempts_folder(question) / str(number)
    (place / "history.git").mkdir(parents=True)
    (place / "history.git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place


def call(number: int, command: str, cost: float | None) -> bytes:
    """A line of model_calls.jsonl."""
    made = ModelCall(
        number=number, wire=Wire.OPENAI_RESPONSES, provider="openai", method="POST", path="/v1/responses",
        requested_at="2026-01-02T03:04:05.000Z", cost_usd=cost,
        tool_calls=[ToolCall(id="c", name="shell", arguments=orjson.dumps({"command": command}).decode())],
    )  # fmt: skip
    return orjson.dumps(made.model_dump(mode="json", exclude_defaults=True)) + b"\n"


def test_what_is_finished_is_counted(data_root: Path, tmp_path: Path) -> None:
    answers = {"q-0": Answer(score=1), "q-1": Answer(score=0, outcome=Outcome.TIMEOUT)}
    seen = LiveRun(write_run(tmp_path / "run", data_root, answers).path).look()
    assert (seen.questions, seen.finished, seen.right, seen.scored) == (3, 2, 1, 2)
    assert seen.outcomes == {"ok": 1, "timeout": 1}
    assert [(one.question_id, one.outcome) for one in seen.new_failures] == [("q-1", Outcome.TIMEOUT)]
    assert seen.running == []


def test_a_running_attempt_shows_its_last_command_and_what_it_has_spent(
    data_root: Path, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    place = running(run, "q-1")
    live = LiveRun(run.path)
    calls = place / "model_calls.jsonl"
    calls.write_bytes(call(1, "ls haystack", 0.25) + call(2, "bash -lc './memory check'", 0.5)[:40])
    (one,) = live.look().running
    assert (one.question_id, one.command, one.calls, one.cost_usd) == ("q-1", "ls haystack", 1, 0.25)
    with calls.open("ab") as file:
        file.write(call(2, "bash -lc './memory check'", 0.5)[40:])
    (one,) = live.look().running
    assert (one.command, one.calls, one.cost_usd) == ("./memory check", 2, 0.75)
    assert live.look().cost_usd == 0.75


def test_without_a_price_the_cost_is_unknown_not_zero(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    (running(run, "q-1") / "model_calls.jsonl").write_bytes(call(1, "ls", None))
    assert LiveRun(run.path).look().cost_usd is None


def test_an_agent_without_a_model_shows_its_last_line(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    (running(run, "q-0") / "stdout").write_bytes(b"one\ntwo\xff\n\n")
    assert LiveRun(run.path).look().running[0].command == "two\ufffd"


def test_failures_are_told_once_as_they_come(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    live = LiveRun(run.path)
    assert live.look().new_failures == []
    other = write_run(tmp_path / "other", data_root, {"q-0": Answer(outcome=Outcome.TIMEOUT)})
    shutil.copytree(other.question_folder("q-0"), run.question_folder("q-0"))
    assert [one.outcome for one in live.look().new_failures] == [Outcome.TIMEOUT]
    assert live.look().new_failures == []


def test_a_record_that_is_damaged_waits_for_the_next_look(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer()})
    record = run.question_folder("q-0") / "query.1.json"
    whole = record.read_bytes()
    record.write_bytes(whole[:50])
    live = LiveRun(run.path)
    assert live.look().finished == 0
    record.write_bytes(whole)
    assert live.look().finished == 1


@pytest.mark.skipif(not Path("/proc/locks").is_file(), reason="only Linux tells who holds a lock")
def test_whether_somebody_works_on_it_is_told_without_taking_the_lock(
    data_root: Path, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    live = LiveRun(run.path)
    assert live.look().working is False
    with run.locked():
        assert live.look().working is True
    with run.locked():
        pass
    assert live.look().working is False


def test_looking_changes_nothing(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1)})
    running(run, "q-1")

    def state() -> list[tuple[str, float]]:
        return sorted((str(path), path.stat().st_mtime) for path in run.path.rglob("*"))

    before = state()
    for _ in range(3):
        LiveRun(run.path).look()
    assert state() == before


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        LiveRun(tmp_path)


PROGRAM = [sys.executable, "-c", "from runbook.cli import main; main()", "watch"]


def test_where_there_is_no_terminal_plain_lines_are_printed(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {"q-0": Answer(outcome=Outcome.TIMEOUT)})
    (running(run, "q-1") / "stdout").write_text("\x1b[31mevil\x1b[0m \u202e\n")
    done = subprocess.run(
        [*PROGRAM, str(run.path), "--once"], capture_output=True, text=True, timeout=AT_ONCE, check=False
    )
    assert done.returncode == 0
    assert "q-0: timeout" in done.stdout
    assert "1/3 questions" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_it_follows_a_run_and_ends_with_it(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    with run.locked():
        watching = subprocess.Popen(
            [*PROGRAM, str(run.path), "--interval", "0.2"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert watching.stdout is not None
        assert "0/3 questions" in watching.stdout.readline()
        time.sleep(0.5)
        assert watching.poll() is None
    out, _ = watching.communicate(timeout=AT_ONCE)
    assert watching.returncode == 0
    assert "runbook eval resume" in out


def test_it_can_be_stopped_at_any_time(data_root: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", data_root, {})
    with run.locked():
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        watching = subprocess.Popen(
            [*PROGRAM, str(run.path), "--interval", "0.2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        assert watching.stdout is not None
        assert "0/3 questions" in watching.stdout.readline()
        watching.terminate()
        _, complaint = watching.communicate(timeout=AT_ONCE)
    assert complaint == ""
    assert watching.returncode == 0
