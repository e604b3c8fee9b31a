"""Sixteen questions at a time: all are answered, haystacks keep to their room, Ctrl-C ends at once."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.conftest import PROGRAM, Runbook
from tests.data_roots import write_haystacks_apart
from tests.waiting import AT_ONCE, FOREVER, wait_for

SIXTEEN = ("--concurrency", "16", "--set", "gates=[]")


@pytest.fixture
def unlike(tmp_path: Path) -> Path:
    return write_haystacks_apart(tmp_path / "data")


def code_after_ctrl_c(tmp_path: Path, running: Callable[[], object], *command: str | Path) -> int:
    """The exit code of a run that is interrupted once `running` holds, and has to end at once."""
    process = subprocess.Popen(
        [*PROGRAM, *map(str, command)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(lambda: running() or process.poll() is not None, 240)
        assert process.poll() is None, "the run ended"
        os.killpg(process.pid, signal.SIGINT)
        return process.wait(AT_ONCE)
    finally:
        process.kill()


def test_ctrl_c_ends_while_haystacks_are_built_ahead_and_a_resume_goes_on(
    runbook: Runbook, unlike: Path, tmp_path: Path
) -> None:
    views = tmp_path / "store" / "views"
    code = code_after_ctrl_c(
        tmp_path,
        lambda: list(views.glob("incoming/*/*")),
        *("eval", "run", "--data", unlike, "--out", "run", "--memory", "rag-slice-bm25", *SIXTEEN),
        *("--store", tmp_path / "store"),
    )
    assert code == 130
    assert len(list(views.glob("*/.index"))) < 16, "it went on until all questions had their haystacks"
    ended = runbook("eval", "resume", "run")
    assert ended.returncode == 0, ended.stderr
    assert "24 of 24 finished" in ended.stdout
    assert subprocess.run(["pgrep", "-f", f"haystack_builder {tmp_path}"], check=False).returncode == 1


def test_ctrl_c_ends_while_models_are_waited_for(
    unlike: Path, tmp_path: Path, silent_model: tuple[str, list[int]]
) -> None:
    url, asked = silent_model
    code = code_after_ctrl_c(
        tmp_path,
        lambda: len(asked) >= 2,
        *("eval", "run", "--data", unlike, "--out", "run", "--memory", "rag-slice", *SIXTEEN),
        *("--set", f"retrieval.embedding.base_url={url}", "--set", "retrieval.embedding.model=bag"),
    )
    assert code == 130
    assert outcomes(tmp_path, "query.1.json") <= {"cancelled"}, "nothing was answered"


def test_ctrl_c_ends_sixteen_agents(unlike: Path, tmp_path: Path) -> None:
    code = code_after_ctrl_c(
        tmp_path,
        lambda: len(list(tmp_path.glob("run/questions/*/attempts/1/stdout"))) >= 16,
        *("eval", "run", "--data", unlike, "--out", "run", *SIXTEEN, "--agent", "command"),
        *("--agent-command", f"sleep {FOREVER}", "--sandbox", "process", "--allow-no-isolation"),
    )
    assert code == 130
    assert outcomes(tmp_path, "attempts/1/attempt.json") == {"cancelled"}


def outcomes(tmp_path: Path, record: str) -> set[str]:
    """How the questions of the run ended, by a record of each that has it."""
    records = [json.loads(file.read_bytes()) for file in tmp_path.glob(f"run/questions/*/{record}")]
    return {one.get("result", one)["outcome"] for one in records}


def test_what_was_evicted_is_built_again_and_the_same(runbook: Runbook, unlike: Path, tmp_path: Path) -> None:
    command = ("eval", "run", "--data", unlike, "--memory", "rag-slice-bm25", "--store", "store", *SIXTEEN)
    kept = {}
    for name, room in (("roomy", "1"), ("tight", "0.000001")):
        ended = runbook(*command, "--out", name, "--set", f"views_gb={room}")
        assert ended.returncode == 0, ended.stderr
        assert "24 of 24 finished" in ended.stdout
        kept[name] = len(list(tmp_path.glob("store/views/*/.index")))
        shutil.rmtree(tmp_path / "store" / "views")
    assert kept["roomy"] == 24
    assert kept["tight"] < 24
    assert contexts(tmp_path / "tight") == contexts(tmp_path / "roomy")


def contexts(run: Path) -> dict[str, tuple[str, str]]:
    """The haystack's digest and the context of each question."""
    records = [json.loads(file.read_bytes()) for file in run.glob("questions/*/query.1.json")]
    return {
        one["question_id"]: (one["haystack_digest"], json.dumps(one["result"]["context"])) for one in records
    }


@pytest.mark.needs("shared")
def test_generated_haystacks_of_their_own_are_all_answered(
    runbook: Runbook, shared: Path, tmp_path: Path
) -> None:
    data = tmp_path / "tiny"
    generator = [sys.executable, shared / "tools" / "make_haystack.py", "--preset", "tiny", "--out", data]
    subprocess.run(generator, check=True, stdout=subprocess.DEVNULL)
    (data / "gold.json").unlink()  # the generator's own form
    ended = runbook(
        *("eval", "run", "--data", data, "--tier", "medium", "--out", "run", *SIXTEEN),
        *("--memory", "rag-slice-bm25"),
    )
    assert ended.returncode == 0, ended.stderr
    assert "17 of 17 finished" in ended.stdout


@pytest.mark.needs("shared")
def test_real_recordings_are_answered_sixteen_at_a_time(
    runbook: Runbook, shared: Path, tmp_path: Path
) -> None:
    ended = runbook(
        *("eval", "run", "--data", shared / "data" / "realmem" / "service", "--out", "run", *SIXTEEN),
        *("--sandbox", "process"),
    )
    assert ended.returncode == 0, ended.stderr
    assert "20 of 20 finished" in ended.stdout
    assert "outcomes             ok 20" in ended.stdout


@pytest.fixture
def silent_model() -> Iterator[tuple[str, list[int]]]:
    """A server that takes requests and never answers: its address, and one entry for each request."""
    asked: list[int] = []

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(1)
            time.sleep(FOREVER)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
