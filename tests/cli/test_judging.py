"""Judging from the command line: calibration, revisions, and what a dry run says, against real servers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.recorded_runs import Answer, write_run

Runbook = Callable[..., Any]


class Yes(BaseHTTPRequestHandler):
    """A judge that finds everything right."""

    says = '{"label": 1, "reason": "all is well"}'

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": self.says}
        body = json.dumps({"model": "yes-1", "choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


class Rubbish(Yes):
    """One that gives no verdict."""

    says = "certainly!"


@pytest.fixture
def yes() -> Iterator[str]:
    yield from served(Yes)


@pytest.fixture
def rubbish() -> Iterator[str]:
    yield from served(Rubbish)


def served(judge: type[Yes]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), judge) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"c{number}",
            "judge": "gotchas",
            "kind": kind,
            "question": "What to mind?",
            "reference": "save first",
            "response": "\\boxed{save first}",
            "expected": expected,
        }
        for number, (kind, expected) in enumerate([("right", 1), ("contradictory", 0)])
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_a_calibration_prints_the_confusion_and_the_disagreements(
    runbook: Runbook, cases: Path, yes: str
) -> None:
    judge = ["--judge", yes, "--judge-model", "yes"]
    shown = runbook("judge", "calibrate", cases, *judge)
    assert shown.returncode == 0, shown.stderr
    assert "yes: 1 of 2 as expected" in shown.stdout
    assert "c1 (contradictory): expected 0, said 1: all is well" in shown.stdout
    second = ["--second-judge", yes, "--second-judge-model", "yes-too"]
    told = json.loads(runbook("judge", "calibrate", cases, *judge, *second, "--json").stdout)
    assert told["judge"]["confusion"]["0"] == {"0": 0, "1": 1, "none": 0}
    assert told["agreement"] == {"count": 2, "agreed": 2, "kappa": None}
    assert told["disagreements"] == []
    even = runbook("judge", "calibrate", cases, *judge, "--votes", "2")
    assert (even.returncode, even.stderr.count("\n")) == (2, 1)
    assert "--votes: a majority needs an odd number" in even.stderr


def test_a_run_judged_again_shows_the_new_judge_and_keeps_the_old_one(
    runbook: Runbook, data_root: Path, tmp_path: Path, yes: str
) -> None:
    rows = [json.loads(line) for line in (data_root / "questions.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {"question_type": "errors-gotchas", "eval_function": "llm_gotchas_checker"}
    (data_root / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = {f"q-{n}": Answer(score=0, evaluator="llm_gotchas_checker") for n in range(3)}
    write_run(tmp_path / "run", data_root, answers)
    again = runbook("eval", "rejudge", "run", "--judge", yes, "--judge-model", "yes", "--votes", "3")
    assert again.returncode == 0, again.stderr
    assert "This is revision 1; run@0 is what was before." in again.stdout
    assert "agree on 0 of 3" in again.stdout
    new, old = (json.loads(runbook("eval", "show", one, "--json").stdout) for one in ("run", "run@0"))
    assert (new["accuracy"]["strict"], new["judge"], new["votes"], new["revision"]) == (1.0, "yes", 3, 1)
    assert (old["accuracy"]["strict"], old["judge"], old["revision"]) == (0.0, "gpt-5.2", 0)
    refused = runbook("compare", "run@0", "run")
    assert refused.returncode == 2
    assert "judge model" in refused.stderr
    assert runbook("eval", "rejudge", "run").returncode == 2


def test_of_a_judge_without_verdicts_nothing_is_said_but_that(
    runbook: Runbook, cases: Path, rubbish: str, yes: str
) -> None:
    judge = ["--judge", rubbish, "--judge-model", "gpt-5.2"]
    ended = runbook("judge", "calibrate", cases, *judge)
    assert ended.returncode == 1
    assert ended.stdout.startswith("gpt-5.2 gave no verdict for 2 of 2; the first time: ")
    assert "as expected" not in ended.stdout
    assert "interval" not in ended.stdout
    second = ["--second-judge", yes, "--second-judge-model", "yes"]
    told = json.loads(runbook("judge", "calibrate", cases, *judge, *second, "--json").stdout)
    assert (told["judge"]["judged"], told["judge"]["overall"], told["judge"]["by_kind"]) == (0, None, {})
    assert (told["second_judge"]["judged"], told["agreement"], told["disagreements"]) == (2, None, [])


def test_a_dry_run_says_what_it_takes_and_what_is_missing(
    runbook: Runbook, data_root: Path, tmp_path: Path, yes: str
) -> None:
    reader = ["--reader", "http://127.0.0.1:9/v1", "--reader-model", "m"]
    judge = ["--judge", yes, "--judge-model", "gpt-5.2"]
    agent = ["--agent", "codex", "--model", "gpt-5"]
    ended = runbook(
        "eval", "run", "--data", data_root, *agent, *reader, *judge, "--repeats", "agent=2", "--dry-run"
    )
    assert ended.returncode == 1
    assert "agent: about 120 calls" in ended.stdout
    assert "reader: about 6 calls" in ended.stdout
    assert "price unknown" in ended.stdout
    assert "hours" in ended.stdout
    missing = [line for line in ended.stdout.splitlines() if line.startswith("missing: ")]
    assert any("codex" in line and "not installed" in line for line in missing)
    assert any("--reader" in line and "not reachable" in line for line in missing)
    assert not any("--judge" in line for line in missing)
