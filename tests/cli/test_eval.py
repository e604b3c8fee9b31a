"""`runbook eval` as a user meets it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import AT_ONCE, FOREVER, wait_for

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
Runbook = Callable[..., subprocess.CompletedProcess[str]]
SUBMIT = "./memory submit --span tr-1:2-2 --note found"


def agent(script: str) -> list[str]:
    """A command agent without isolation: the quickest real one."""
    command = ["--agent", "command", "--agent-command", f"sh -c '{script}'"]
    return [*command, "--allow-no-isolation", "--sandbox", "process"]


@pytest.fixture
def done(runbook: Runbook, data_root: Path, tmp_path: Path) -> Path:
    """A finished run over three questions."""
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *agent(SUBMIT))
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "run"


def test_show_has_the_figures_that_programs_read(runbook: Runbook, done: Path) -> None:
    shown = json.loads(runbook("eval", "show", done, "--json").stdout)
    assert shown["questions"] == 3
    assert shown["coverage"] == 1.0
    assert shown["outcomes"] == {"ok": 3}
    assert shown["accuracy"] is None
    assert shown["evidence"]["hit"] == pytest.approx(1 / 3)
    assert shown["evidence"]["states_per_question"] == 1.0
    assert set(shown["latency"]) >= {"avg", "p50", "p95", "max"}
    assert shown["sandbox"] == "process"
    assert shown["agent"] == "command"


def test_the_table_says_plainly_that_no_reader_ran(runbook: Runbook, done: Path) -> None:
    assert "No reader ran" in runbook("eval", "show", done).stdout


def test_sandboxes_that_were_passed_over_are_recorded_with_their_reasons(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    nowhere = f"unix://{tmp_path}/nobody.sock"
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", "--limit", "1", DOCKER_HOST=nowhere)
    assert ended.returncode == 0, ended.stderr
    first, *_ = json.loads((tmp_path / "run" / "run.json").read_text())["passed_over"]
    assert first.startswith("docker is passed over: ")
    assert len(first) > len("docker is passed over: ")


def test_a_finished_run_resumes_to_itself(runbook: Runbook, done: Path) -> None:
    before = {path: path.read_bytes() for path in done.rglob("*.json")}
    ended = runbook("eval", "resume", done)
    assert ended.returncode == 0, ended.stderr
    assert {path: path.read_bytes() for path in done.rglob("*.json")} == before


def test_the_question_and_its_gold_never_enter_the_workspace(runbook: Runbook, done: Path) -> None:
    canaries = [b"q-0", b"q-1", b"q-2", b"static-environment", b"gold"]
    for workspace in done.glob("questions/*/attempts/1/workspace"):
        for file in [path for path in workspace.rglob("*") if path.is_file()]:
            content = file.read_bytes()
            assert not [canary for canary in canaries if canary in content], file


def test_a_changed_data_root_is_not_mixed_into_an_old_run(
    runbook: Runbook, done: Path, data_root: Path
) -> None:
    with (data_root / "questions.jsonl").open("a") as file:
        file.write("\n")
    ended = runbook("eval", "resume", done)
    assert ended.returncode == 2
    assert "changed since the run began" in ended.stderr


def test_a_dry_run_writes_nothing(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", "--dry-run")
    assert ended.returncode == 0
    assert "3 of 3 questions" in ended.stdout
    assert not (tmp_path / "run").exists()


def test_a_limited_run_is_marked_as_smoke(runbook: Runbook, data_root: Path) -> None:
    runbook("eval", "run", "--data", data_root, "--out", "run", "--limit", "1", *agent(SUBMIT))
    shown = json.loads(runbook("eval", "show", "run", "--json").stdout)
    assert (shown["questions"], shown["tier_questions"], shown["smoke"]) == (1, 3, True)


def test_chosen_questions_are_run(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("q-2\n")
    runbook("eval", "run", "--data", data_root, "--out", "run", "--questions", "ids.txt", *agent(SUBMIT))
    assert json.loads((tmp_path / "run" / "run.json").read_bytes())["questions"] == ["q-2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "nowhere", "--out", "run"], "nowhere"),
        (["--data", "data", "--out", "data"], "not empty"),
        (["--data", "data", "--out", "data/questions.jsonl/run"], "cannot write"),
        (["--data", "data", "--out", "run", "--tier", "huge"], "lme_v2_huge.json"),
        (["--data", "data", "--out", "run", "--agent", "oracle"], "oracle"),
        (["--data", "data", "--out", "run", "--agent", "command"], "--agent-command"),
        (["--data", "data", "--out", "run", "--reader", "http://127.0.0.1:9/v1"], "--reader-model"),
        (
            ["--data", "data", "--out", "run", "--reader", "ftp://x", "--reader-model", "m"],
            "http",
        ),
        (["--data", "data", "--out", "run", "--questions", "missing.txt"], "missing.txt"),
        (["--data", "data", "--out", "run", "--limit", "0"], "limit"),
        (["--data", "data", "--out", "run", "--sandbox", "vm"], "vm"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    runbook: Runbook, data_root: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    ended = runbook("eval", "run", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "run" / "questions").exists()


def test_a_haystack_that_names_an_unknown_trajectory_is_said_with_its_line(
    runbook: Runbook, data_root: Path
) -> None:
    haystacks = data_root / "haystacks" / "lme_v2_small.json"
    named = json.loads(haystacks.read_text())
    named["q-1"].append("nowhere")
    haystacks.write_text(json.dumps(named, indent=1))
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *agent(SUBMIT))
    assert ended.returncode == 2
    assert "lme_v2_small.json:13: the haystack of question 'q-1' names trajectory 'nowhere'" in ended.stderr


def test_an_agent_that_is_not_ours_needs_isolation_or_permission(runbook: Runbook, data_root: Path) -> None:
    command = ["--agent", "command", "--agent-command", "true", "--sandbox", "process"]
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *command)
    assert ended.returncode == 1
    assert "--allow-no-isolation" in ended.stderr


def test_an_unknown_retry_class_lists_what_there_is(runbook: Runbook, done: Path) -> None:
    ended = runbook("eval", "resume", done, "--retry", "everything")
    assert ended.returncode == 2
    assert "infrastructure" in ended.stderr
    assert "timeout" in ended.stderr


def test_ctrl_c_ends_at_once_and_a_resume_goes_on(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    script = f"test -e {gate} || sleep {FOREVER}; {SUBMIT}"
    process = subprocess.Popen(
        [*PROGRAM, "eval", "run", "--data", data_root, "--out", "run", *agent(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    wait_for(lambda: list(tmp_path.glob("run/questions/*/attempts/1/stdout")))
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(AT_ONCE) == 130
    gate.touch()
    ended = runbook("eval", "resume", "run")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(runbook("eval", "show", "run", "--json").stdout)["coverage"] == 1.0


def test_a_kill_at_any_moment_loses_only_what_was_in_flight(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    command = ["eval", "run", "--data", str(data_root), "--out", "run", "--concurrency", "1"]
    first, gate = tmp_path / "first", tmp_path / "gate"
    script = f"mkdir {first} 2>&- || test -e {gate} || sleep {FOREVER}; {SUBMIT}"
    process = subprocess.Popen(
        [*PROGRAM, *command, *agent(script)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: list(tmp_path.glob("run/questions/*/query.1.json")))
    process.kill()
    process.wait()
    kept = {path: path.read_bytes() for path in tmp_path.glob("run/questions/*/query.1.json")}
    assert len(kept) == 1
    gate.touch()
    ended = runbook("eval", "resume", "run")
    assert ended.returncode == 0, ended.stderr
    assert {path: path.read_bytes() for path in kept} == kept
    assert json.loads(runbook("eval", "show", "run", "--json").stdout)["coverage"] == 1.0


def test_a_run_goes_on_when_nobody_reads_its_output_any_more(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "eval", "run", "--data", data_root, "--out", "run", *agent(SUBMIT)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=AT_ONCE)
    assert process.returncode == 0
    assert said.count("nobody reads this output any more; the work goes on") == 1
    assert json.loads(runbook("eval", "show", "run", "--json").stdout)["coverage"] == 1.0


def test_a_store_that_is_gone_is_imported_again_by_a_resume(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    store = ["--store", "st/store"]
    runbook("eval", "run", "--data", data_root, "--out", "run", *store, *agent(SUBMIT))
    next(iter(tmp_path.glob("run/questions/*/query.1.json"))).unlink()
    shutil.rmtree(tmp_path / "st")
    ended = runbook("eval", "resume", "run")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(runbook("eval", "show", "run", "--json").stdout)["coverage"] == 1.0


def test_a_program_that_the_sandbox_lacks_is_a_mistake_before_any_question(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    command = ["--agent", "command", "--agent-command", "no-such-agent -p", "--sandbox", "process"]
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *command, "--allow-no-isolation")
    assert ended.returncode == 2
    assert "no-such-agent" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_reader_that_is_not_there_is_a_mistake_before_any_question(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    reader = ["--reader", "http://127.0.0.1:9/v1", "--reader-model", "m"]
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *reader)
    assert ended.returncode == 2
    assert "not reachable" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_why_an_agent_failed_is_in_its_record(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    script = "echo quota used up >&2; exit 9"
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", "--attempts", "1", *agent(script))
    assert ended.returncode == 0
    assert "quota used up" in ended.stdout


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (
            {"trajectory_id": "zz", "start_state_index": 0, "end_state_index": 0},
            "'zz' is not in its haystack",
        ),
        ({"trajectory_id": "tr-1", "start_state_index": 2, "end_state_index": 9}, "has 5 states"),
    ],
)
def test_gold_that_cannot_be_is_a_mistake_before_any_question(
    runbook: Runbook, data_root: Path, tmp_path: Path, span: dict[str, object], said: str
) -> None:
    (data_root / "gold.json").write_text(json.dumps({"q-1": {"evidence": [[span]]}}))
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *agent(SUBMIT))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_resume_never_mixes_two_versions_of_the_trajectories(
    runbook: Runbook, done: Path, data_root: Path
) -> None:
    next(iter(done.glob("questions/*/query.1.json"))).unlink()
    trajectories = data_root / "trajectories.jsonl"
    trajectories.write_text(trajectories.read_text().replace("CODE-0-1", "CODE-9-9"))
    ended = runbook("eval", "resume", done)
    assert ended.returncode == 2
    assert "changed since the run began" in ended.stderr


def test_a_changed_haystack_stops_the_run_before_others_read_it(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    script = f"for f in haystack/trajectories/*/0001.txt; do echo poison >> $f; done; {SUBMIT}"
    command = ["eval", "run", "--data", data_root, "--store", tmp_path / "store", "--concurrency", "1"]
    ended = runbook(*command, "--out", "run", *agent(script))
    assert ended.returncode == 2
    assert "a resume builds the haystack anew" in ended.stderr
    shown = json.loads(runbook("eval", "show", "run", "--json").stdout)
    assert shown["outcomes"] == {"haystack_modified": 1}
    assert runbook("store", "verify", "--store", tmp_path / "store").returncode == 0
    unharmed = runbook(*command, "--out", "again", *agent(f"! grep -rq poison haystack/ && {SUBMIT}"))
    assert unharmed.returncode == 0, unharmed.stderr
    shown = json.loads(runbook("eval", "show", "again", "--json").stdout)
    assert set(shown["outcomes"]) == {"ok"}


def test_paths_are_never_taken_for_markup(runbook: Runbook, data_root: Path) -> None:
    ended = runbook("eval", "run", "--data", data_root, "--out", "r[/red]un", *agent(SUBMIT))
    assert ended.returncode == 0, ended.stderr
    assert "r[/red]un" in ended.stdout


def test_an_agent_without_manifests_does_not_see_any(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    script = f"ls haystack/; ./memory overview; ./memory search warehouse --url example; {SUBMIT}"
    arguments = ["--data", data_root, "--out", "run", "--limit", "1", "--no-manifests", *agent(script)]
    ended = runbook("eval", "run", *arguments)
    assert ended.returncode == 0, ended.stderr
    (said,) = tmp_path.glob("run/questions/*/attempts/1/stdout")
    listed = said.read_text().split("# haystack", 1)[0].split()
    assert sorted(listed) == ["trajectories", "trajectories.tsv"]
