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
from sandbox.init import children_of, descendants, parents
from tests.waiting import AT_ONCE, FOREVER, wait_for

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
    assert launch("--seconds", "0.5").wait(AT_ONCE) == 124
    assert time.monotonic() - began >= 0.5


def test_it_ends_with_its_command_and_its_exit_code(launch: Launch) -> None:
    assert launch("--seconds", str(FOREVER), "--", "sh", "-c", "exit 7").wait(AT_ONCE) == 7


@pytest.mark.parametrize("arguments", [[], ["--seconds", "0"], ["--nonsense", "1"]])
def test_it_refuses_to_run_without_a_deadline(launch: Launch, arguments: list[str]) -> None:
    process = launch(*arguments)
    assert process.wait(AT_ONCE) == 1
    assert process.stderr is not None
    assert process.stderr.read().startswith(b"init: ")


@LINUX
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_every_descendant(launch: Launch, end: signal.Signals) -> None:
    script = "setsid sh -c 'sleep 600 & sleep 600' & (setsid sleep 600 &) ; sleep 600"
    process = launch("--seconds", str(FOREVER), "--", "sh", "-c", script)
    wait_for(lambda: len(descendants(process.pid)) >= 5)
    below = descendants(process.pid)
    process.send_signal(end)
    assert process.wait(AT_ONCE) == 143
    wait_for(lambda: not alive(below))


@LINUX
def test_the_deadline_takes_a_process_that_forks_all_the_time(launch: Launch) -> None:
    script = "while :; do (setsid sleep 600 &); sleep 0.01; done"

    def forked_within(seconds: int) -> int:
        below = set[int]()
        process = launch("--seconds", str(seconds), "--", "sh", "-c", script)
        while process.poll() is None:
            below |= descendants(process.pid)
            time.sleep(0.05)
        assert process.returncode == 124
        wait_for(lambda: not alive(below))
        return len(below)

    # A slow machine forks nothing within a second.
    assert any(forked_within(seconds) > 10 for seconds in (1, 20))


@LINUX
def test_orphans_are_reaped(launch: Launch) -> None:
    script = "for i in 1 2 3 4 5; do (true &); done; echo made; exec sleep 600"
    process = launch("--seconds", str(FOREVER), "--", "sh", "-c", script, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"made\n"
    time.sleep(0.1)  # for five orphans to have come and gone
    # Who ended and was not reaped is a child still.
    wait_for(lambda: len(children_of(process.pid)) == 1)
    assert process.poll() is None, "init ended, so nothing was reaped"


def test_it_ends_when_the_host_is_gone(launch: Launch) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = launch(
            "--seconds", str(FOREVER), "--serve", str(theirs.fileno()), pass_fds=[theirs.fileno()]
        )
    assert ours.recv(100).startswith(b"ready ")
    ours.close()
    assert process.wait(AT_ONCE) == 143


def test_its_scratch_folder_goes_with_it(launch: Launch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "file").touch()
    assert launch("--seconds", str(FOREVER), "--scratch", str(scratch), "--", "true").wait(AT_ONCE) == 0
    assert not scratch.exists()


@LINUX
def test_it_does_nothing_while_it_waits(launch: Launch) -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        process = launch(
            "--seconds", str(FOREVER), "--serve", str(theirs.fileno()), pass_fds=[theirs.fileno()]
        )
        ours.recv(100)

        def ticks() -> int:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        before = ticks()
        time.sleep(1)
        assert ticks() - before <= 0.02 * os.sysconf("SC_CLK_TCK")
