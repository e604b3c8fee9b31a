"""`runbook tune` as a user meets it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.recorded import read_run
from tests.tuning.conftest import MakeStudy
from tests.waiting import FOREVER, wait_for

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts `runbook ARGUMENTS` in `tmp_path`."""

    def begin(*arguments: str | Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def answered(study: Path) -> list[Path]:
    return sorted(study.glob("*/setting-*/questions/*/query.*.json"))


def test_a_killed_study_goes_on_and_finds_the_best_point(
    start: Start, make_study: MakeStudy, tmp_path: Path
) -> None:
    study = make_study(space="budget = [1, 20]", more="[study]\nblock = 3\n")
    folder = tmp_path / "study"
    killed = start("tune", study)
    wait_for(lambda: len(answered(folder)) >= 2 or killed.poll() is not None, 240)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    before = {path: path.read_bytes() for path in answered(folder)}
    assert before

    out, err = start("tune", study).communicate(timeout=FOREVER)
    assert "Result, on 5 questions" in out, err
    assert "2 settings were tried" in out
    result = json.loads((folder / "result.json").read_text())
    assert all(path.read_bytes() == kept for path, kept in before.items())
    assert not [path for path in answered(folder) if path.name != "query.1.json"]
    assert sorted(one["setting"]["budget"] for one in result["settings"]) == [1, 20]
    best = next(one for one in result["settings"] if one["setting"]["budget"] == 20)
    assert result["chosen"] == {
        "fast": best["number"],
        "balanced": best["number"],
        "accurate": best["number"],
    }
    assert best["figures"]["quality"] > 0.4

    run = read_run(folder / "confirm" / f"setting-{best['number']:03d}")
    assert len(run.results) == 5
    tuned = run.record.config.tuned_on
    assert tuned is not None
    assert (tuned.questions, tuned.settings) == (7, 2)
    assert not set(run.results) & set(read_run(folder / "search" / "setting-000").results)
    assert (folder / "frontier.png").is_file()

    planned = start("eval", "run", folder / "balanced.toml", "--dry-run")
    out, err = planned.communicate(timeout=FOREVER)
    assert planned.returncode == 0, err
    assert "12 of 12 questions" in out
    assert "budget = 20" in (folder / "balanced.toml").read_text()
    assert tuned.digest in (folder / "balanced.toml").read_text()


def test_an_agent_that_cannot_be_is_named_before_anything_runs(
    start: Start, make_study: MakeStudy, tmp_path: Path
) -> None:
    ended = start("tune", make_study(space='agent = ["scout", "nobody"]'))
    _, err = ended.communicate(timeout=FOREVER)
    assert ended.returncode == 2
    assert "agent = 'nobody': no setting with it can be run" in err
    assert not (tmp_path / "study").exists()
