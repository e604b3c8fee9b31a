"""init: holds its deadline alone, leaves no process behind, and costs nothing while it waits."""

import ast
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.cage import INIT
from sandbox.init import descendants, parents
from tests.waiting import wait_for

Launch = Callable[..., "subprocess.Popen[bytes]"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def launch() -> Iterator[Launch]:
    started: list[subprocess.Popen[bytes]] = []

    def launch_one(*arguments: str, **options: object) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-I", "-S", str(INIT), *arguments]
        started.append(subprocess.Popen(argv, stderr=subprocess.PIPE, **options))  # type: ignore[call-overload]
        return started[-1]

    yield launch_one
    for process in started:
        process.terminate()
        process.communicate()


def alive(pids: set[int]) -> set[int]:
    return pids & parents().keys()


def test_it_needs_nothing_but_python_3_8() -> None:
    tree = ast.parse(INIT.read_text(), feature_version=(3, 8))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules <= sys.stdlib_module_names


def test_it_ends_at_its_deadline(launch: Launch) -> None:
    began = time.monotonic()
    assert launch("--seconds", "0.5").wait(10) == 124
    assert 0.5 <= time.monotonic() - began < 5


def test_it_ends_with_its_command_and_its_exit_code(launch: Launch) -> None:
    assert launch("--seconds", "60", "--", "sh", "-c", "exit 7").wait(10) == 7


@pytest.mark.parametrize("arguments", [[], ["--seconds", "0"], ["--nonsense", "1"]])
def test_it_refuses_to_run_without_a_deadline(launch: Launch, arguments: list[str]) -> None:
    process = launch(*arguments)
    assert process.wait(10) == 1
    assert process.stderr is not None
    assert process.stderr.read().startswith(b"init: ")


@LINUX
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_every_descendant(launch: Launch, end: signal.Signals) -> None:
    script = "setsid sh -c 'sleep 60 & sleep 60' & (setsid sleep 60 &) ; sleep 60"
    process = launch("--seconds", "60", "--", "sh", "-c", script)
    wait_for(lambda: len(descendants(process.pid)) >= 5)
    below = descendants(process.pid)
    process.send_signal(end)
    assert process.wait(10) == 143
    assert alive(below) == set()


@LINUX
def test_the_deadline_takes_a_process_that_forks_all_the_time(launch: Launch) -> None:
    script = "while :; do (setsid sleep 60 &); sleep 0.01; done"
    process = launch("--seconds", "1", "--", "sh", "-c", script)
    time.sleep(0.8)
    below = descendants(process.pid)
    assert below
    assert process.wait(10) == 124
    assert alive(below) == set()


@LINUX
def test_orphans_are_reaped(launch: Launch) -> None:
    script = "for i in 1 2 3 4 5; do (true &); done; sleep 60"
    process = launch("--seconds", "60", "--", "sh", "-c", script)
    wait_for(lambda: descendants(process.pid))

    def zombies() -> list[str]:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        return [pid for pid in children if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()]

    time.sleep(0.3)  # for five orphans to have come and gone
    wait_for(lambda: not zombies())
    assert process.poll() is None, "init ended, so nothing was reaped"
    assert zombies() == []


def test_it_ends_when_the_host_is_gone(launch: Launch) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = launch("--seconds", "60", "--serve", str(theirs.fileno()), pass_fds=[theirs.fileno()])
    assert ours.recv(100).startswith(b"ready ")
    ours.close()
    assert process.wait(10) == 143


def test_its_scratch_folder_goes_with_it(launch: Launch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "file").touch()
    assert launch("--seconds", "60", "--scratch", str(scratch), "--", "true").wait(10) == 0
    assert not scratch.exists()


@LINUX
def test_it_does_nothing_while_it_waits(launch: Launch) -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        process = launch("--seconds", "60", "--serve", str(theirs.fileno()), pass_fds=[theirs.fileno()])
        ours.recv(100)

        def ticks() -> int:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        before = ticks()
        time.sleep(1)
        assert ticks() - before <= 0.02 * os.sysconf("SC_CLK_TCK")
