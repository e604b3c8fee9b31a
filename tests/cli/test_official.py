"""`runbook eval official` and `runbook eval export` as a user meets them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.public_harness import write_public_harness
from tests.recorded_runs import Answer, write_run

Runbook = Callable[..., subprocess.CompletedProcess[str]]
SCOUT = ("--agent", "scout", "--sandbox", "process", "--reader", "http://127.0.0.1:9/v1")


def test_the_scout_answers_a_harness(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    checkout = write_public_harness(tmp_path / "checkout")
    arguments = ("--data", data_root, "--domain", "web", "--out", "runs", "--limit", "1", *SCOUT)
    ended = runbook("eval", "official", "--upstream", checkout, *arguments)
    assert ended.returncode == 0, ended.stderr
    out = tmp_path / "runs" / "runbook-scout_web_small"
    [row] = [json.loads(line) for line in (out / "per_question.jsonl").read_text().splitlines()]
    assert "CODE-0-2" in " ".join(item["value"] for item in row["memory_context"])
    again = runbook("eval", "official", "--upstream", checkout, *arguments)
    assert again.returncode == 2
    assert "there already" in again.stderr


def test_export_refuses_by_name_and_exports_unofficially(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    write_run(tmp_path / "run", data_root, {f"q-{n}": Answer(score=1) for n in range(3)})
    refused = runbook("eval", "export", "run")
    assert refused.returncode == 2
    assert "profile is fixed" in refused.stderr
    assert runbook("eval", "export", "run", "--unofficial").returncode == 0
    assert (tmp_path / "run" / "exports" / "per_question.jsonl").is_file()
