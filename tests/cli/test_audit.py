"""`runbook eval show` beside the official figures: suspect scores, and scores with errata."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recorded_runs import Answer, write_run

Runbook = Callable[..., subprocess.CompletedProcess[str]]
ERRATA = """format = 1
name = "ours"
version = "1"
[[question]]
id = "q-1"
also = ["CODE-9"]
reason = "two names"
"""


@pytest.fixture
def shown(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `eval show` on a run with a suspect score and one that errata make right."""
    answers = {
        "q-0": Answer(score=0, response=r"\boxed{unknown.}"),
        "q-1": Answer(score=0, response=r"\boxed{CODE-9}"),
    }
    write_run(tmp_path / "run", data_root, answers)
    (tmp_path / "errata.toml").write_text(ERRATA)
    return lambda *arguments: runbook("eval", "show", "run", *arguments)


def test_the_official_score_stays_and_the_others_stand_beside_it(
    shown: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    read = json.loads(shown("--errata", "errata.toml", "--json").stdout)
    assert read["accuracy"]["scored"] == 2
    assert read["accuracy"]["conditional"] == 0
    assert [one["question_id"] for one in read["suspects"]] == ["q-0"]
    assert read["suspects"][0]["suspects"][0]["kind"] == "unknown_form"
    assert read["errata"]["with_errata"]["correct"] == 1
    assert read["errata"]["without"]["correct"] == 0
    assert json.loads(shown("--json").stdout)["errata"] is None


def test_people_read_the_same(shown: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    text = shown("--errata", "errata.toml", "--suspects").stdout
    assert "q-0: score 0, unknown_form" in text
    assert "with errata ours 1: 33.3 % of all 3 questions, 50.0 % of scored; without 0.0 %" in text
    assert "--suspects lists them" in shown().stdout


def test_a_bad_errata_file_is_named(
    shown: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text("format = 2")
    ended = shown("--errata", "bad.toml")
    assert ended.returncode == 2
    assert "bad.toml" in ended.stderr
