"""`runbook frontier` as a user meets it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from manifests.importing import import_lme_v2
from manifests.store import Store
from tests.recorded_runs import Answer, write_run

Runbook = Callable[..., subprocess.CompletedProcess[str]]


def scores(right: int, seconds: float) -> dict[str, Answer]:
    return {f"q-{n}": Answer(score=int(n < right), seconds=seconds) for n in range(3)}


def test_table_json_picture_and_deadlines(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    import_lme_v2(data_root, Store.open(tmp_path / "store"))
    write_run(tmp_path / "quick", data_root, scores(2, 20))
    write_run(tmp_path / "slow", data_root, scores(3, 90))
    shown = runbook("frontier", "quick", "slow", "-o", "f.png", "--what-if", "10,30")
    assert shown.returncode == 0, shown.stderr
    assert "published points alone 55.76" in shown.stdout
    assert "Post hoc" in shown.stdout
    assert (tmp_path / "f.png").is_file()
    assert (tmp_path / "f.svg").is_file()
    read = json.loads(runbook("frontier", "quick", "slow", "--what-if", "30", "--json").stdout)
    assert [worth["undominated"] for worth in read["frontier"]["runs"]] == [True, True]
    assert read["what_if"][0]["at"][0]["with_final"] == 3


def test_mistakes_are_named(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run", data_root, scores(2, 20))
    for arguments, words in (
        (["run", "--tier", "huge"], "no published points of tier 'huge'"),
        (["run", "--what-if", "soon"], "no list of seconds"),
        (["run", "--what-if", "5"], "store"),
        (["nowhere"], "is no run"),
    ):
        ended = runbook("frontier", *arguments)
        assert ended.returncode == 2, ended.stderr
        assert words in ended.stderr
