"""Export writes the public layout, and only of what is a benchmark result."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.dataset import load_data_root
from evals.export.rules import obstacles
from evals.export.write import ExportError, export
from evals.recorded import RecordedRun, data_of, read_run
from evals.scoring.lafs import OperatingPoint, lafs_gain
from runbook.gateway.settings import GatewaySettings
from runbook.outcomes import Outcome
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run
from tests.waiting import AT_ONCE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Six questions, three of them of the enterprise domain."""
    made = write_data_root(tmp_path / "data", questions=6, trajectories=6)
    rows = [json.loads(line) for line in (made / "questions.jsonl").read_text().splitlines()]
    for row in rows[3:]:
        row["domain"] = "enterprise"
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return made


def answers(**changed: Any) -> dict[str, Answer]:
    made = {f"q-{n}": Answer(score=n % 2, seconds=n + 1) for n in range(6)}
    return made | {name.replace("_", "-"): answer for name, answer in changed.items()}


@pytest.fixture
def official(root: Path, tmp_path: Path) -> Callable[..., RecordedRun]:
    """Builds a run that keeps all rules but those that the test breaks."""

    def build(given: dict[str, Answer] | None = None, counted: str = "server", **config: Any) -> RecordedRun:
        folder = write_run(tmp_path / "run", root, given or answers())
        for file in folder.path.glob("questions/*/reading.1.json"):
            file.write_text(file.read_text().replace('"counter": "estimate"', f'"counter": "{counted}"'))
        run = read_run(folder.path)
        changed = run.record.config.model_copy(update={"profile": "official"} | config)
        return replace(run, record=run.record.model_copy(update={"config": changed}))

    return build


def test_the_layout_and_names(official: Callable[..., RecordedRun], root: Path) -> None:
    run = official()
    done = export(run, data_of(run), method="my-method")
    assert [package.name for package in done.packages] == [
        "my-method_web_small",
        "my-method_enterprise_small",
    ]
    web = done.packages[0]
    arguments = json.loads((web / "run_args.json").read_text())
    assert (arguments["domain"], arguments["tier"], arguments["method"]) == ("web", "small", "my-method")
    assert (arguments["model"], arguments["evaluator_model"]) == ("qwen3.5-9b", "gpt-5.2")
    questions = json.loads((web / "runtime_inputs" / "questions.json").read_text())
    haystack = json.loads((web / "runtime_inputs" / "haystack.json").read_text())
    rows = [json.loads(line) for line in (web / "per_question.jsonl").read_text().splitlines()]
    assert [row["id"] for row in questions] == list(haystack) == [row["question_id"] for row in rows]
    assert {row["domain"] for row in questions} == {"web"}
    assert [row["score"] for row in rows] == [0.0, 1.0, 0.0]
    metrics = json.loads((web / "aggregated_metrics.json").read_text())
    assert metrics["overall"]["count_all_questions"] == 3
    assert metrics["memory_query"]["total_seconds"] == 6
    assert (metrics["shared_haystack"], metrics["shared_haystack_ids"]) == (True, haystack["q-0"])
    assert metrics["completed_at_utc"] == max(row["timestamp_utc"] for row in rows)
    assert metrics["memory_post_query"]["avg_seconds"] == 0
    whole = json.loads((run.folder.path / "exports" / "aggregated_metrics.json").read_text())
    assert whole["overall"]["overall_full_set"] == 0.5
    assert "unofficial" not in whole


def test_what_is_written_names_nothing_of_this_machine(
    official: Callable[..., RecordedRun], tmp_path: Path
) -> None:
    run = official()
    for path in export(run, data_of(run)).files:
        assert str(tmp_path) not in path.read_text(), path
        assert "127.0.0.1" not in path.read_text(), path


def test_a_line_of_the_export_is_a_line_for_every_reader(official: Callable[..., RecordedRun]) -> None:
    run = official(answers(q_1=Answer(score=1, response="a\u2028b\x85c\x0bd")))
    for path in export(run, data_of(run)).files:
        if path.suffix == ".jsonl":
            assert path.read_text().splitlines() == path.read_text().strip("\n").split("\n")


def test_tokens_are_counted_as_the_public_harness_counts_them(official: Callable[..., RecordedRun]) -> None:
    run = official()
    file = run.folder.question_folder("q-0") / "reading.1.json"
    file.write_text(
        re.sub(r'"(prompt|completion|total)_tokens": ?[0-9]+', r'"\1_tokens":null', file.read_text())
    )
    run = replace(read_run(run.folder.path), record=run.record)
    web = export(run, data_of(run)).packages[0]
    tokens = json.loads((web / "aggregated_metrics.json").read_text())["tokens"]
    assert (tokens["prompt_tokens"], tokens["total_tokens"], tokens["avg_total_tokens"]) == (
        200,
        220,
        220 / 3,
    )
    arguments = json.loads((web / "run_args.json").read_text())
    assert arguments["fallbacks"] == {"untold_tokens": ["q-0"]}
    first = json.loads((web / "per_question.jsonl").read_text().splitlines()[0])
    assert first["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    fixed = json.loads((run.folder.path / "exports" / "aggregated_metrics.json").read_text())
    assert fixed["tokens"]["total_tokens"] == 550


def test_an_export_done_again_is_the_same(official: Callable[..., RecordedRun]) -> None:
    run = official()
    first = {path: path.read_bytes() for path in export(run, data_of(run)).files}
    assert {path: path.read_bytes() for path in export(run, data_of(run)).files} == first


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"profile": "fixed"}, "its profile is fixed"),
        ({"gateway": GatewaySettings(replay=Path("cassette"))}, "a replay of another run"),
        ({"counted": "text estimated, images from model"}, "estimated, not counted"),
        ({"given": answers(q_2=Answer())}, "1 of 6 questions have no score"),
        ({"given": answers(q_2=Answer(outcome=Outcome.RATE_LIMITED))}, "no score (rate_limited)"),
        ({"given": answers(q_2=Answer(score=1, forced=True))}, "thrown away with --force"),
        ({"judge": None}, "it has no judge"),
        ({"tier": "huge"}, "tier huge is none of small, medium"),
    ],
)
def test_every_rule_refuses_by_name(
    official: Callable[..., RecordedRun], root: Path, changes: dict[str, Any], words: str
) -> None:
    run = official(**changes)
    with pytest.raises(ExportError, match="is no benchmark result") as error:
        export(run, load_data_root(root))
    assert words in str(error.value)
    assert not (run.folder.path / "exports").exists()


def test_a_smoke_run_is_none(root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", root, {"q-0": Answer(score=1), "q-1": Answer(score=1)}, limit=2)
    found = obstacles(read_run(folder.path), load_data_root(root))
    assert "only 2 of the 6 questions of tier small were run" in found


def test_other_domains_are_refused(official: Callable[..., RecordedRun], root: Path) -> None:
    text = (root / "questions.jsonl").read_text()
    (root / "questions.jsonl").write_text(text.replace('"enterprise"', '"desktop"'))
    found = obstacles(official(), load_data_root(root))
    assert found == ["its questions are of domain desktop, not web or enterprise"]


def test_an_unofficial_export_says_why_and_has_nothing_to_be_packaged(root: Path, tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", root, answers(q_1=Answer())).path)
    done = export(run, data_of(run), unofficial=True)
    assert done.packages == []
    assert "its profile is fixed, not official" in done.obstacles
    metrics = json.loads((run.folder.path / "exports" / "aggregated_metrics.json").read_text())
    assert metrics["unofficial"] == done.obstacles
    assert metrics["overall"]["count_all_questions"] == 5
    lines = (run.folder.path / "exports" / "per_question.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert json.loads(lines[1])["score"] is None


@pytest.mark.parametrize("method", ["a/b", "", "ü", "a b"])
def test_a_method_that_cannot_be_a_folder(official: Callable[..., RecordedRun], method: str) -> None:
    run = official()
    with pytest.raises(ExportError, match="no method's name"):
        export(run, data_of(run), method=method or "/")


def test_the_public_packaging_takes_it(
    official: Callable[..., RecordedRun], tmp_path: Path, upstream: Path
) -> None:
    run = official(answers(q_1=Answer(score=1, seconds=2, response="\u2028\x85\x0b\\boxed{something}\x1c")))
    web, enterprise = export(run, data_of(run), method="ours").packages
    point = tmp_path / "s" / "try" / "operating_points" / "point"
    (tmp_path / "SYSTEM_DESCRIPTION.md").write_text("What it is.")
    (tmp_path / "code.tar").write_bytes(b"")
    package = ["--output-root", tmp_path / "s"]
    for script, *arguments in (
        ("build_submission_step_1_single_operating_point", web, enterprise, "try", "point", "small"),
        (
            "build_submission_step_2_build_package",
            *("try", tmp_path / "SYSTEM_DESCRIPTION.md", tmp_path / "code.tar", point),
        ),
    ):
        command = [sys.executable, upstream / "leaderboard" / f"{script}.py", *arguments, *package]
        ended = subprocess.run(
            command, cwd=upstream, capture_output=True, text=True, timeout=AT_ONCE, check=False
        )
        assert ended.returncode == 0, ended.stderr
    overview = json.loads((point / "metric_overview.json").read_text())
    assert overview["overall_full_set"] == 0.5
    assert overview["memory_query_avg_seconds"] == 3.5
    submission = json.loads((tmp_path / "s" / "try" / "submission_overview.json").read_text())
    assert submission["lafs"]["lafs_gain"] == pytest.approx(lafs_gain([OperatingPoint(0.5, 3.5)], "small"))
    assert (tmp_path / "s" / "try.tar.gz").exists()


@pytest.fixture
def upstream() -> Path:
    """A checkout of the public harness, where RUNBOOK_UPSTREAM names one."""
    named = os.environ.get("RUNBOOK_UPSTREAM")
    if not named:
        pytest.skip("RUNBOOK_UPSTREAM names no checkout of the public harness")
    return Path(named)
