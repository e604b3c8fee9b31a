"""The kit itself: it fails an agent that does nothing, and says what there is."""

import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import helpers
from instructions import InstructionOptions
from manifests.store import Store
from manifests.views import View, Views
from runbook.agents import CommandAgent
from runbook.agents.conformance.cases import BY_NAME, CASES
from runbook.agents.conformance.checks import NotKnown, ran, usage
from runbook.agents.conformance.haystack import trajectories
from runbook.agents.conformance.kit import CaseResult, Kit, Terms, had_time
from runbook.agents.conformance.observing import Observed, processes_with
from runbook.attempt import Arm, AttemptSettings
from runbook.cli.agent_testing import attempts_folder
from runbook.gateway import ModelCall, Usage
from runbook.memory import AttemptRecord
from runbook.outcomes import Outcome
from runbook.traces import Kind, Source, TraceEvent
from runbook.venue import SandboxVenue
from sandbox.process import ProcessSandbox
from sandbox.protocol import Limits, Mount
from tests.scripted_model import modes
from tests.waiting import AT_ONCE, FOREVER, wait_for


@dataclass(frozen=True)
class ShellBench:
    """A shell command in place of an agent, without isolation and without a model."""

    command: str
    workspaces: Path
    agent: str = "shell"
    prompt_in_argument: bool = True

    @contextmanager
    def arm(self, terms: Terms) -> Iterator[Arm]:
        settings = AttemptSettings(
            limits=Limits(wall_seconds=min(terms.wall_seconds, AT_ONCE)),
            instruction=InstructionOptions(),
            helper_usage="",
            workspaces=self.workspaces,
        )
        venue = SandboxVenue(ProcessSandbox(), Mount(Path(helpers.__file__).parent, "/opt/helpers"))
        yield Arm(CommandAgent(self.command), venue, settings)

    def containers(self, question: str) -> list[str]:  # noqa: ARG002 - there are none
        return []


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    store = Store.open(tmp_path / "store")
    slugs = [store.add(one, tmp_path).slug for one in trajectories()]
    with Views(store).acquire(slugs) as opened:
        yield opened


def run(command: str, case: str, view: View, folder: Path) -> CaseResult:
    kit = Kit("http://127.0.0.1:9", view, folder / "out")
    (result,) = kit.run([ShellBench(command, folder)], [BY_NAME[case]])
    return result


def test_an_agent_that_does_nothing_fails(view: View, tmp_path: Path) -> None:
    result = run("true", "healthy", view, tmp_path)
    assert result.verdict == "fail"
    assert result.outcome == "invalid_output"
    assert "where ok was expected" in result.reason
    assert "the record holds no model call" in result.reason


def test_evidence_alone_does_not_pass(view: View, tmp_path: Path) -> None:
    write = 'echo \'{"memory_markdown": "x"}\' > memory_module_output.json'
    result = run(f"sh -c {shlex.quote(write)}", "exit", view, tmp_path)
    assert result.outcome == "ok"
    assert result.verdict == "fail"
    assert "does not tell of 'to-stderr'" in result.reason


def test_a_case_that_does_not_apply_says_why(view: View, tmp_path: Path) -> None:
    result = run("true", "prompt-1m", view, tmp_path)
    assert (result.verdict, result.outcome) == ("n/a", "")
    assert "128 KiB" in result.reason


def end_without_exit_code(stream: str) -> Observed:
    record = AttemptRecord(
        number=1,
        agent="mine",
        sandbox="docker",
        outcome=Outcome.OK,
        started_at="2026-01-02T03:04:05.000+00:00",
        seconds=1.0,
    )
    event = TraceEvent(kind=Kind.TOOL_END, source=Source.WIRE, at=1.0, command="./memory search x")
    return Observed(record, Path(), [], [event], 10.0, [], True, stream)


def test_exit_codes_are_not_known_where_no_stream_tells_them_and_missed_where_one_should() -> None:
    check = ran("./memory search", 0)
    assert isinstance(check(end_without_exit_code("")), NotKnown)
    assert "has exit code None" in str(check(end_without_exit_code("codex")))
    assert "does not tell" in str(ran("cat", 0)(end_without_exit_code("")))


def test_only_the_answer_that_an_agent_was_ended_in_may_lack_its_usage() -> None:
    ended = end_without_exit_code("")
    told = Usage(fresh_input=900, cache_read=100, output=50)
    calls = [
        ModelCall(
            number=number,
            wire=None,
            provider="p",
            method="POST",
            path="/v1/x",
            requested_at=ended.record.started_at,
            status=200,
            usage=known,
        )
        for number, known in ((1, told), (2, None))
    ]
    assert usage(replace(ended, calls=calls)) == ""
    itself = replace(ended, record=ended.record.model_copy(update={"exit_code": 0}))
    assert "usage of model call 2 is unknown" in usage(replace(itself, calls=calls))
    assert "usage of model call 2 is unknown" in usage(replace(ended, calls=calls[::-1]))


def test_a_short_deadline_is_too_short_until_the_command_of_the_case_was_begun(tmp_path: Path) -> None:
    silent = replace(end_without_exit_code(""), folder=tmp_path)
    assert had_time(BY_NAME["healthy"], silent), "its deadline is long"
    assert not had_time(BY_NAME["hang"], silent)
    at = silent.record.started_at
    called = ModelCall(number=1, wire=None, provider="p", method="POST", path="/v1/x", requested_at=at)
    asked = replace(silent, calls=[called])
    assert had_time(BY_NAME["hang"], asked)
    assert not had_time(BY_NAME["deadline"], asked)
    asked.workspace.mkdir()
    (asked.workspace / "started").touch()
    assert had_time(BY_NAME["deadline"], asked)
    assert not had_time(BY_NAME["deadline"], replace(asked, calls=[]))


def test_a_process_is_found_by_a_word_of_its_command_line() -> None:
    word = f"{FOREVER}.{secrets.randbelow(10**12):012d}"  # of nobody else on this machine
    with subprocess.Popen(["sleep", word]) as process:
        wait_for(lambda: processes_with(word) == [f"sleep {word}"])
        process.kill()
    assert processes_with(word) == []


def test_cases_have_names_of_their_own_and_modes_that_exist() -> None:
    assert len(BY_NAME) == len(CASES)
    known = modes.__doc__ or ""
    for case in CASES:
        numbered = case.mode.rstrip("0123456789")
        assert f"`{case.mode}`" in known or f"`{numbered}N`" in known, case.mode


def kept(
    out: Path | None, results: list[CaseResult], ending: BaseException | None = None
) -> tuple[str, bool]:
    """What is said of the folder of attempts once a run with these results has ended, and if it is there."""
    said = StringIO()
    with suppress(KeyboardInterrupt), attempts_folder(out, results, Console(file=said, width=400)) as folder:
        (folder / "attempt").mkdir(parents=True)
        if ending:
            raise ending
    return said.getvalue(), folder.is_dir()


def test_attempts_stay_where_there_is_a_reason_and_their_place_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNBOOK_HOME", str(tmp_path / "home"))
    good, bad = CaseResult("a", "healthy", "pass"), CaseResult("a", "healthy", "fail")
    assert kept(None, [good]) == ("", False)
    assert kept(tmp_path / "mine", [good]) == (f"attempts are kept in {tmp_path}/mine\n", True)
    said, there = kept(None, [bad])
    assert there
    assert f"attempts are kept in {tmp_path}/home/agent-tests/" in said
    said, there = kept(None, [good], KeyboardInterrupt())
    assert there
    assert said.startswith(f"1 case done; attempts are kept in {tmp_path}/home/agent-tests/")


def command_line(*arguments: str) -> "subprocess.CompletedProcess[str]":
    start = [sys.executable, "-c", "from runbook.cli import main; main()", "agents", "test"]
    return subprocess.run(
        [*start, *arguments], capture_output=True, text=True, check=False, env={**os.environ}
    )


def test_the_command_lists_cases_and_names_mistakes() -> None:
    listed = command_line("--list")
    assert listed.returncode == 0, listed.stderr
    assert [line.partition(":")[0] for line in listed.stdout.splitlines()] == list(BY_NAME)
    unknown = command_line("react", "--cases", "healthy,nope")
    assert unknown.returncode == 2
    assert "no case 'nope'" in unknown.stderr
    assert command_line().returncode == 2
