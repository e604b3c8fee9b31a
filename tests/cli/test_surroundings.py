"""Odd surroundings: each is one line that names the file and the mend, with the right exit code."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import FOREVER

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
Runbook = Callable[..., subprocess.CompletedProcess[str]]
SCOUT = ("--agent", "scout", "--sandbox", "process")


def one_line(ended: subprocess.CompletedProcess[str], code: int) -> str:
    """What an ended command said on standard error, after checks that hold for every error."""
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "[Errno" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, ended.stderr
    return errors[0]


@pytest.fixture
def done(runbook: Runbook, data_root: Path, tmp_path: Path) -> Path:
    """A finished run of our own agent, whose home is `tmp_path/home`."""
    ended = runbook(
        "eval", "run", "--data", data_root, "--out", "run", *SCOUT, RUNBOOK_HOME=str(tmp_path / "home")
    )
    assert ended.returncode == 0, ended.stderr
    return tmp_path / "run"


@pytest.mark.parametrize("place", ["a file", "below a file", "nobody's", "no folder of this machine"])
def test_a_home_that_cannot_be_is_the_users_mistake(
    runbook: Runbook, data_root: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    homes = {
        "a file": tmp_path / "file",
        "below a file": tmp_path / "file" / "home",
        "nobody's": "~nobody-of-this-name/x",
        "no folder of this machine": "/proc/home",
    }
    home = str(homes[place])
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *SCOUT, RUNBOOK_HOME=home)
    assert "set RUNBOOK_HOME to" in one_line(ended, 2)


def test_the_doctor_looks_at_the_home(runbook: Runbook, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    engine = f"unix://{tmp_path}/none.sock"
    ended = runbook("doctor", "--json", RUNBOOK_HOME=str(tmp_path / "file"), DOCKER_HOST=engine)
    assert ended.returncode == 1, ended.stderr
    (found,) = [check for check in json.loads(ended.stdout)["checks"] if check["name"] == "home"]
    assert not found["ok"]
    assert "RUNBOOK_HOME" in found["mend"]


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    ended = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, "eval", "show", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=FOREVER,
        check=False,
    )
    assert "cd to another one" in one_line(ended, 2)


def test_an_argument_that_is_no_text_is_named(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*map(os.fsencode, PROGRAM), b"ask", b"what \xff"],
        cwd=tmp_path,
        capture_output=True,
        timeout=FOREVER,
        check=False,
    )
    assert ended.returncode == 2
    assert b"argument 2" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_a_file_that_the_store_lacks_is_named_with_its_mend(
    runbook: Runbook, done: Path, tmp_path: Path
) -> None:
    for file in (tmp_path / "home/store/trajectories").glob("*/parts/states.tsv"):
        file.unlink()
    next(iter(done.glob("questions/*/query.1.json"))).unlink()
    line = one_line(runbook("eval", "resume", done, RUNBOOK_HOME=str(tmp_path / "home")), 1)
    assert "states.tsv" in line
    assert "store verify --repair" in line
    assert len(list(done.glob("questions/*/query.1.json"))) == 2


def test_output_onto_a_full_disk_is_said(done: Path) -> None:
    for format_option in ([], ["--json"]):
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [*PROGRAM, "eval", "show", done, *format_option],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=FOREVER,
                check=False,
            )
        assert "the disk is full" in one_line(ended, 1)


@pytest.mark.parametrize("command", ["eval show RUN --json", "eval show RUN", "store verify --json"])
def test_a_reader_that_stops_reading_ends_the_command_quietly(
    done: Path, tmp_path: Path, command: str
) -> None:
    words = command.replace("RUN", str(done)).split()
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *words],
        env={**os.environ, "RUNBOOK_HOME": str(tmp_path / "home")},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=FOREVER,
        check=False,
    )
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("command", "closed"), [("eval show RUN --json", ">&-"), ("eval show RUN", "<&- >&- 2>&-")]
)
def test_closed_streams_are_no_error_and_take_no_files_number(done: Path, command: str, closed: str) -> None:
    words = command.replace("RUN", str(done)).split()
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *PROGRAM, *words],
        capture_output=True,
        text=True,
        timeout=FOREVER,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_missing_git_is_said_before_any_question(runbook: Runbook, data_root: Path, tmp_path: Path) -> None:
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *SCOUT, PATH=str(tmp_path / "no"))
    assert "install git" in one_line(ended, 1)
    assert not (tmp_path / "run").exists()


def test_a_judge_without_a_reader_is_a_mistake(runbook: Runbook, data_root: Path) -> None:
    judge = ["--judge", "http://127.0.0.1:9/v1", "--judge-model", "m"]
    ended = runbook("eval", "run", "--data", data_root, "--out", "run", *judge, *SCOUT)
    assert "--reader" in one_line(ended, 2)


def test_one_of_a_thing_is_not_many(
    runbook: Runbook, make_data_root: Callable[..., Path], tmp_path: Path
) -> None:
    root = make_data_root(tmp_path / "one", questions=1, trajectories=1, states=1)
    (root / "gold.json").unlink()
    dry = runbook("eval", "run", "--data", root, "--out", "run", "--attempts", "1", "--dry-run")
    assert "1 of 1 question, 1 distinct haystack," in dry.stdout
    assert "at most 1 attempt of" in dry.stdout


def test_help_fits_a_narrow_terminal(runbook: Runbook) -> None:
    for width in (80, 120):
        lines = runbook("eval", "run", "--help", COLUMNS=str(width)).stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert not [line for line in lines if "\u2026" in line], "nothing is cut"
        assert len(lines) < 110


def test_a_picture_that_breaks_off_is_refused_before_anything_runs(
    runbook: Runbook, done: Path, tmp_path: Path
) -> None:
    (tmp_path / "half.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    home = str(tmp_path / "home")
    ended = runbook("ask", "What is this?", "--image", "half.png", RUNBOOK_HOME=home)
    assert "half.png cannot be read as a picture" in one_line(ended, 2)
    assert not (tmp_path / "home" / "asked").exists()


def test_ask_says_how_long_it_took_in_all(runbook: Runbook, done: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    ended = runbook("ask", "Which access code has warehouse 1?", "--sandbox", "process", RUNBOOK_HOME=home)
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"^[0-9.]+ s, of which the query [0-9.]+ s; ", ended.stdout, re.MULTILINE)


def test_ask_keeps_its_attempts_in_no_folder_that_holds_something(
    runbook: Runbook, done: Path, tmp_path: Path
) -> None:
    home = str(tmp_path / "home")
    asked = ["ask", "Which access code has warehouse 1?", "--sandbox", "process", "--keep"]
    assert "is not empty" in one_line(runbook(*asked, str(done), RUNBOOK_HOME=home), 2)
    kept = tmp_path / "kept"
    kept.mkdir()
    assert runbook(*asked, str(kept), RUNBOOK_HOME=home).returncode == 0
    assert any(kept.iterdir())


def test_what_dead_processes_left_is_cleaned_without_an_engine(runbook: Runbook, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "helpers" / "0123456789abcdef").mkdir(parents=True)
    os.utime(home / "helpers" / "0123456789abcdef", (0, 0))
    engine = f"unix://{tmp_path}/none.sock"
    ended = runbook("sandbox", "gc", "--json", RUNBOOK_HOME=str(home), DOCKER_HOST=engine)
    assert ended.returncode == 0, ended.stderr
    removed = json.loads(ended.stdout)
    assert removed["helpers"] == [str(home / "helpers" / "0123456789abcdef")]
    assert removed["images"] == []
    assert removed["engine"]
