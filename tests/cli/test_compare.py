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


def write_arms(tmp_path: Path, **changed: str) -> None:
    write_data_root(tmp_path / "data", questions=6, trajectories=6)
    for name, memory in (("first", "first"), ("drawn", "random")):
        lines = ['data = "data"', 'store = "store"', "gates = []", f'memory = "{memory}"']
        (tmp_path / f"{name}.toml").write_text("\n".join([*lines, changed.get(name, "")]))


def test_two_settings_files_are_run_in_turn_and_compared(runbook: Runbook, tmp_path: Path) -> None:
    write_arms(tmp_path)
    command = ("compare", "first.toml", "drawn.toml", "--interleave", "--out", "runs")
    shown = runbook(*command)
    assert shown.returncode == 0, shown.stderr
    assert "A = first, B = drawn" in shown.stdout
    records = sorted(
        (file.stat().st_mtime_ns, file.relative_to(tmp_path / "runs").parts[0])
        for file in (tmp_path / "runs").glob("*/questions/*/query.1.json")
    )
    arms = [arm for _, arm in records]
    assert len(arms) == 12
    # Each question is answered by both arms before the next one is begun (up to the questions in flight).
    assert all(abs(arms[:k].count("first") - arms[:k].count("drawn")) <= 2 for k in range(13))
    again = runbook(*command, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["comparisons"][0]["coverage"]["common"] == 6
    assert not list((tmp_path / "runs").glob("*/questions/*/query.2.json"))


def test_arms_that_could_not_be_compared_are_not_run(runbook: Runbook, tmp_path: Path) -> None:
    model = 'base_url = "http://127.0.0.1:9/v1"'
    write_arms(
        tmp_path, first=f'reader = {{ {model}, model = "a" }}', drawn=f'reader = {{ {model}, model = "b" }}'
    )
    command = ("compare", "first.toml", "drawn.toml", "--interleave")
    unlike = runbook(*command, "--out", "runs")
    assert unlike.returncode == 2
    assert "differ in more than the memory: reader (--allow reader" in unlike.stderr
    write_arms(tmp_path, drawn="limit = 2")
    fewer = runbook(*command, "--out", "runs")
    assert fewer.returncode == 2
    assert "not asked the same questions: their limit differs" in fewer.stderr
    assert not (tmp_path / "runs").exists()
    assert "--out FOLDER belong together" in runbook(*command).stderr
