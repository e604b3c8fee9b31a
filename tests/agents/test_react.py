"""The react agent: its loop, its tools and its events, against the scripted model."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import runbook
from runbook.agents.conformance.model_server import scripted_model
from tests.waiting import AT_ONCE, FOREVER

PROGRAM = Path(runbook.__file__).parent / "agents" / "react" / "react.py"


@dataclass(frozen=True)
class Ran:
    """One run: its exit code, its events and the requests the model got."""

    code: int
    events: list[dict[str, Any]]
    stderr: str
    requests: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


Run = Callable[..., Ran]
on_both_wires = pytest.mark.parametrize("wire", ["chat", "responses"])


@pytest.fixture(scope="module")
def model_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="module")
def model_url(model_log: Path) -> Iterator[str]:
    with scripted_model(log=model_log, delay=0.0) as url:
        yield url


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "question.json").write_text('{"question": "Which?"}', encoding="utf-8")
    return folder


@pytest.fixture
def run(model_url: str, model_log: Path, workspace: Path) -> Run:
    """Run react in the workspace."""

    def start(mode: str, *options: str, wire: str = "chat", prompt: str = "Find it.") -> Ran:
        prefix = f"/m/{mode}-{workspace.parent.name}"
        done = subprocess.run(
            [sys.executable, str(PROGRAM), "--model", "m-1", "--wire", wire, *options],
            input=prompt.encode(),
            cwd=workspace,
            env={
                "PATH": os.environ["PATH"],
                "OPENAI_API_KEY": "k",
                "OPENAI_BASE_URL": f"{model_url}{prefix}/v1",
            },
            capture_output=True,
            timeout=FOREVER,
            check=False,
        )
        lines = (model_log / "requests.jsonl").read_text(encoding="utf-8").splitlines()
        asked = [line["body"] for line in map(json.loads, lines) if line["path"].startswith(f"{prefix}/")]
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return Ran(done.returncode, events, done.stderr.decode(), asked)

    return start


def test_runs_commands_writes_evidence_and_ends_with_the_models_words(run: Run, workspace: Path) -> None:
    ran = run("ok")
    assert ran.code == 0
    assert (
        json.loads((workspace / "memory_module_output.json").read_text())["evidence_status"] == "insufficient"
    )
    assert [event["exit_code"] for event in ran.of("tool_end")] == [0, 127, 3, 0]
    assert "FINAL-MESSAGE-MARK" in ran.of("message")[0]["text"]
    assert ran.events[0]["type"] == "start"
    assert (ran.events[-1]["type"], ran.events[-1]["reason"]) == ("end", "message")


def test_a_seed_goes_with_every_request_where_the_wire_has_seeds(run: Run) -> None:
    chat = run("ok", "--seed", "7")
    assert {request["seed"] for request in chat.requests} == {7}
    assert chat.events[0]["seed"] == 7
    assert all("seed" not in request for request in run("think", "--seed", "7", wire="responses").requests)


def test_a_model_that_refuses_seeds_is_asked_without(workspace: Path) -> None:
    asked: list[dict[str, Any]] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            status, text = (400, "seed is not supported") if "seed" in asked[-1] else (401, "who are you?")
            body = json.dumps({"error": {"message": text}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [sys.executable, str(PROGRAM), "--model", "m-1", "--seed", "7"],
            input=b"Find it.",
            cwd=workspace,
            env={"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"},
            capture_output=True,
            timeout=FOREVER,
            check=False,
        )
        server.shutdown()
    assert ["seed" in request for request in asked] == [True, False]
    assert b"who are you?" in done.stderr


@on_both_wires
def test_tells_usage_in_buckets_that_do_not_overlap(run: Run, wire: str) -> None:
    first = run("think", "--max-steps", "1", wire=wire).of("model")[0]
    assert first["usage"] == {
        "fresh_input": 900,
        "cache_read": 100,
        "cache_write": None,
        "output": 50,
        "reasoning": 20,
    }
    assert first["reasoning"] == "**Thinking** about step 0"
    assert first["model"] == "m-1"


@on_both_wires
def test_calls_of_one_turn_run_at_once(run: Run, wire: str) -> None:
    ran = run("parallel", wire=wire)
    starts, ends = ran.of("tool_start"), ran.of("tool_end")
    assert max(event["at"] for event in starts[:2]) < min(event["at"] for event in ends[:2])
    assert {event["id"] for event in starts} == {event["id"] for event in ends}


def test_the_command_output_is_cut_in_the_middle(run: Run) -> None:
    ran = run("big")
    big = ran.of("tool_end")[0]
    assert big["output_bytes"] > 2_900_000
    assert len(big["output"]) < 17_000
    assert "bytes left out" in big["output"]
    assert "line 32999" in big["output"]


def test_what_a_model_gets_wrong_is_told_and_the_work_goes_on(run: Run) -> None:
    for mode, words in (("badtool", "no tool"), ("badjson", "JSONDecodeError")):
        ran = run(mode)
        assert ran.code == 0
        assert words in ran.of("tool_end")[0]["output"]
        assert ran.of("tool_end")[0]["is_error"]


@on_both_wires
def test_a_refusal_ends_it_with_its_status(run: Run, wire: str) -> None:
    ran = run("err401", wire=wire)
    assert ran.code == 1
    assert ran.of("error")[0]["status"] == 401
    assert "AuthenticationError" in ran.stderr
    assert ran.events[-1]["reason"] == "error"
    assert len(ran.requests) == 1


def test_a_passing_failure_is_survived(run: Run) -> None:
    assert run("fail2").code == 0


@pytest.mark.parametrize("mode", ["trunc", "null", "cut"])
@on_both_wires
def test_a_broken_answer_is_asked_for_again_and_then_an_error(run: Run, mode: str, wire: str) -> None:
    ran = run(mode, wire=wire)
    assert ran.code == 1
    assert len(ran.requests) == 3
    assert ran.of("error")[0]["kind"] == ("APIConnectionError" if mode == "cut" else "BrokenAnswerError")


def test_the_steps_are_bounded(run: Run) -> None:
    ran = run("loop", "--max-steps", "3")
    assert ran.code == 1
    assert len(ran.requests) == 3
    assert ran.events[-1]["reason"] == "steps"


def test_submitted_evidence_ends_it_at_once(run: Run, workspace: Path) -> None:
    (workspace / "memory").write_text("#!/bin/sh\ntouch .submitted\n")
    (workspace / "memory").chmod(0o755)
    ran = run("ok")
    assert ran.events[-1]["reason"] == "submitted"
    assert len(ran.requests) == 2


@on_both_wires
def test_a_picture_of_the_workspace_reaches_the_model(run: Run, workspace: Path, wire: str) -> None:
    Image.new("RGB", (8, 8), "teal").save(workspace / "question_image.png")
    run("image", wire=wire)
    note = json.loads((workspace / "memory_module_output.json").read_text())["memory_markdown"]
    assert note == "pictures seen: 1"


def test_a_picture_outside_the_workspace_does_not(run: Run, workspace: Path, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), "teal").save(tmp_path / "secret.png")
    (workspace / "question_image.png").symlink_to(tmp_path / "secret.png")
    ran = run("image")
    assert "below the current folder" in ran.of("tool_end")[0]["output"]
    note = json.loads((workspace / "memory_module_output.json").read_text())["memory_markdown"]
    assert note == "pictures seen: 0"


def test_a_process_left_behind_that_holds_stdout_holds_nothing(run: Run) -> None:
    ran = run("orphan")
    orphan = ran.of("tool_end")[0]
    assert orphan["seconds"] < AT_ONCE
    assert "left" in orphan["output"]
    os.kill(int(orphan["output"].split()[-1]), signal.SIGKILL)


def test_a_command_gets_no_input(run: Run) -> None:
    assert "read to the end: 0" in run("stdin").of("tool_end")[0]["output"]


@on_both_wires
def test_the_effort_is_asked_for(run: Run, wire: str) -> None:
    body = run("ok", "--effort", "high", "--max-steps", "1", wire=wire).requests[0]
    assert body.get("reasoning_effort") == "high" or body["reasoning"] == {"effort": "high"}


def test_a_huge_prompt_arrives_whole(run: Run) -> None:
    prompt = f"<question a1>\n{'x' * 1_000_000}\n</question a1>"
    assert run("huge", prompt=prompt).of("tool_end")[0]["exit_code"] == 0
