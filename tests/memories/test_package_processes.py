"""A run whose package hangs, leaves a thread or changes the current folder ends, where it was meant to."""

import json
import signal
import subprocess
import sys

import pytest

from evals.runs.config_file import read_config
from tests.waiting import AT_ONCE, FOREVER, wait_for

HANGS = f"import threading; threading.Event().wait({FOREVER})"
LEAVES_A_THREAD = (
    f"import threading; threading.Thread(target=threading.Event().wait, args=({FOREVER},)).start()"
)


@pytest.fixture
def evaluate(run, data):
    def evaluated(*arguments):
        return run("eval", "run", "--data", data.path, "--memory", "mine", "--limit", 1, *arguments)

    return evaluated


def outcomes(run, folder):
    return json.loads(run("eval", "show", folder, "--json").stdout)["outcomes"]


def test_a_package_that_hangs_has_the_time_of_an_attempt(installed, evaluate, run, tmp_path):
    installed(query=HANGS)
    ended = evaluate("--timeout", 1, "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    assert outcomes(run, tmp_path / "run") == {"timeout": 1}


def test_a_package_that_asks_an_agent_has_the_time_of_its_attempts(installed, evaluate, run, tmp_path):
    installed(make="Mine.agent = parts.other('agent')", query="time.sleep(1.5)", top="import time")
    ended = evaluate(
        "--timeout", 1, "--sandbox", "process", "--allow-no-isolation", "--out", tmp_path / "run"
    )
    assert ended.returncode == 0, ended.stderr
    assert outcomes(run, tmp_path / "run") == {"ok": 1}


@pytest.mark.parametrize("where", ["make", "insert", "query"])
def test_ctrl_c_ends_a_run_whose_package_hangs(installed, data, tmp_path, where):
    reached = tmp_path / "reached"
    installed(**{where: f"open({str(reached)!r}, 'w').close(); {HANGS}"})
    program = (sys.executable, "-c", "from runbook.cli import main; main()", "eval", "run")
    options = ("--data", data.path, "--memory", "mine", "--out", tmp_path / "run")
    with subprocess.Popen([*program, *map(str, options)], stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(reached.exists)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=AT_ONCE)
        finally:
            process.kill()
    assert (process.returncode, told) == (130, "interrupted; what was finished is kept\n")


def test_a_thread_that_a_package_left_does_not_keep_the_process(installed, evaluate, run, tmp_path):
    installed(query=LEAVES_A_THREAD)
    ended = evaluate("--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith(f"Everything is in {tmp_path / 'run'}\n"), "all that was printed is there"


@pytest.fixture
def elsewhere(tmp_path):
    """An empty folder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def here(elsewhere, installed, monkeypatch, tmp_path):
    """Where commands are given, with a package that goes elsewhere as soon as it can."""
    installed(top=f"import os\nos.chdir({str(elsewhere)!r})")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RUNBOOK_HOME", "home")
    return folder


def records(folder):
    return sorted(path.relative_to(folder) for path in folder.glob("questions/*/query.*.json"))


def test_a_run_stays_where_it_was_named_whatever_the_current_folder_is(here, elsewhere, evaluate, run, data):
    ended = evaluate("--out", "run")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("Everything is in run\n")
    (answered,) = records(here / "run")
    (here / "run" / answered).unlink()
    ended = run("eval", "resume", "run")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("Everything is in run\n")
    assert records(here / "run") == [answered]
    again = evaluate("--out", "run")
    assert again.stderr == "error: run holds a run already: `runbook eval resume run` goes on with it\n"
    assert list(elsewhere.iterdir()) == []
    assert {one.name for one in here.iterdir()} == {"home", "run"}


def test_the_runs_of_a_matrix_stay_where_they_were_named(here, elsewhere, run, data):
    settings = f'[run]\ndata = "{data.path}"\nstore = "store"\nlimit = 1\n'
    arms = '[arms.mine]\nmemory = "mine"\n[arms.none]\nmemory = "none"\n'
    (here / "matrix.toml").write_text(f'reference = "none"\n{settings}{arms}')
    ended = run("eval", "matrix", "matrix.toml", "--out", "arms")
    assert ended.returncode == 0, ended.stderr
    assert [len(records(here / "arms" / arm)) for arm in ("mine", "none")] == [1, 1]
    assert list(elsewhere.iterdir()) == []


def test_settings_that_are_compared_stay_where_they_were_named(here, elsewhere, run, data):
    for arm, memory in (("a", "none"), ("b", "mine")):
        (here / f"{arm}.toml").write_text(f'data = "{data.path}"\nmemory = "{memory}"\nlimit = 1\n')
    ended = run("compare", "a.toml", "b.toml", "--interleave", "--out", "arms")
    assert ended.returncode == 0, ended.stderr
    assert [len(records(here / "arms" / arm)) for arm in ("a", "b")] == [1, 1]
    assert list(elsewhere.iterdir()) == []


def test_a_study_stays_where_it_was_named(here, elsewhere, run, make_data_root, tmp_path):
    data = make_data_root(tmp_path / "many", questions=12, trajectories=12, states=3)
    base = f'[base]\ndata = "{data}"\nmemory = "mine"\n'
    rest = '[study]\nobjective = "pareto"\n[caps]\nsettings = 1\n[space]\nbudget = [1, 20]\n'
    (here / "study.toml").write_text(base + rest)
    ended = run("tune", "study.toml", "--out", "tried")
    assert list(here.glob("tried/search/*/questions/*/query.*.json")), ended.stderr
    assert list(elsewhere.iterdir()) == []


def test_a_path_given_with_set_starts_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = read_config(None, {}, ["data=data", "gateway.record=tape"], store=tmp_path / "store")
    assert (config.data, config.gateway.record) == (tmp_path / "data", tmp_path / "tape")
