"""`runbook compare` as a user meets it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.data_roots import write_data_root
from tests.recorded_runs import READER, Answer, write_run

Runbook = Callable[..., subprocess.CompletedProcess[str]]


def scores(right: int) -> dict[str, Answer]:
    return {f"q-{n}": Answer(score=int(n < right), seconds=5 + n) for n in range(12)}


def test_table_and_json(runbook: Runbook, tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=12, trajectories=12)
    write_run(tmp_path / "a", root, scores(3))
    write_run(tmp_path / "b", root, scores(9), versions={"codex": "0.2"})
    shown = runbook("compare", "a", "b")
    assert shown.returncode == 0, shown.stderr
    assert "+50.0" in shown.stdout
    assert "only B: q-3, q-4" in shown.stdout
    assert "version of codex: none against 0.2" in shown.stdout
    [made] = json.loads(runbook("compare", "a", "b", "--json").stdout)["comparisons"]
    assert made["rows"][0]["difference"] == 0.5
    assert made["rows"][0]["only_b"] == 6
    assert made["coverage"]["common"] == 12


def test_unequal_readers_are_refused_by_name_until_allowed(runbook: Runbook, tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=12, trajectories=12)
    write_run(tmp_path / "a", root, scores(3))
    write_run(tmp_path / "b", root, scores(9), reader=READER | {"model": "another"})
    refused = runbook("compare", "a", "b")
    assert refused.returncode == 2
    assert "reader model: qwen3.5-9b against another" in refused.stderr
    assert "--allow reader" in refused.stderr
    allowed = runbook("compare", "a", "b", "--allow", "reader")
    assert allowed.returncode == 0
    assert "Not the same, as allowed: reader model" in allowed.stdout


def test_what_is_no_run_and_what_is_no_aspect(runbook: Runbook, tmp_path: Path) -> None:
    assert runbook("compare", "nowhere", "there").returncode == 2
    wrong = runbook("compare", "a", "b", "--allow", "weather")
    assert wrong.returncode == 2
    assert "'weather' is none of data, reader, judge, profile, tier" in wrong.stderr
