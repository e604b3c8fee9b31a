"""The choice of a back end: the best that works, never less isolation without a word."""

import shutil
from pathlib import Path

import pytest

from sandbox.process import ProcessSandbox
from sandbox.protocol import Sandbox, SandboxError
from sandbox.selection import choose


def no_engine() -> Sandbox:
    raise SandboxError("no docker engine answers", mend="start it")


@pytest.fixture
def no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("bwrap") is None


def test_docker_comes_first_where_it_works() -> None:
    engine = ProcessSandbox()
    choice = choose("auto", lambda: engine, allow_no_isolation=False)
    assert choice.sandbox is engine
    assert choice.passed_over == ()


@pytest.mark.needs("bubblewrap")
def test_bubblewrap_comes_next_and_says_why_not_docker() -> None:
    choice = choose("auto", no_engine, allow_no_isolation=True)
    assert choice.sandbox.name == "bubblewrap"
    assert choice.passed_over == ("docker is passed over: no docker engine answers (start it)",)


def test_without_isolation_nothing_is_chosen_unless_allowed(no_bubblewrap: None) -> None:
    with pytest.raises(SandboxError) as caught:
        choose("auto", no_engine, allow_no_isolation=False)
    said = str(caught.value)
    assert "no docker engine answers" in said
    assert "bwrap is not installed" in said
    assert "--allow-no-isolation" in caught.value.mend


def test_process_is_the_last_resort_and_its_lack_is_told(no_bubblewrap: None) -> None:
    choice = choose("auto", no_engine, allow_no_isolation=True)
    assert choice.sandbox.name == "process"
    assert len(choice.passed_over) == 2
    assert choice.remarks == (
        "sandbox process: does not promise filesystem, limits, no_network, processes, read_only; "
        "better ones do not work here (`runbook doctor` says why)",
    )


def test_a_back_end_that_was_asked_for_has_no_replacement() -> None:
    with pytest.raises(SandboxError, match="no docker engine answers"):
        choose("docker", no_engine, allow_no_isolation=True)


def test_process_must_be_allowed_also_by_name() -> None:
    with pytest.raises(SandboxError, match="isolates nothing"):
        choose("process", no_engine, allow_no_isolation=False)
    assert choose("process", no_engine, allow_no_isolation=True).sandbox.name == "process"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SandboxError, match=r"no sandbox 'podman' \(use one of auto, docker, bubblewrap, process\)"
    ):
        choose("podman", no_engine, allow_no_isolation=True)
