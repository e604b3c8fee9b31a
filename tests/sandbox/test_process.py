"""The process back end: no isolation, but nothing stays behind and changes of the haystack are told."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.process import ProcessSandbox, processes_with
from sandbox.protocol import Ending, Limits, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.snapshot import Snapshot
from tests.waiting import AT_ONCE, FOREVER

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def own() -> ProcessSandbox:
    """A back end without memory of other tests."""
    return ProcessSandbox()


def scratch_of(running: RunningSandbox, run: Callable[..., object]) -> Path:
    ran = run(running, ["sh", "-c", 'printf %s "$HOME"'])
    return Path(os.fsdecode(ran.stdout)).parent  # type: ignore[attr-defined]


@LINUX
def test_a_command_that_kills_init_takes_nothing_out_of_reach(own: ProcessSandbox, place, run) -> None:
    running = own.start(place.spec())
    scratch = scratch_of(running, run)
    began = time.monotonic()
    ran = run(running, ["sh", "-c", f"setsid sleep {FOREVER} & kill -9 $PPID; sleep {FOREVER}"])
    assert ran.result.ending is Ending.LOST
    assert time.monotonic() - began < AT_ONCE
    assert processes_with(scratch) == set()


@LINUX
def test_a_command_that_freezes_init_still_meets_its_deadline(own: ProcessSandbox, place, run) -> None:
    running = own.start(place.spec())
    scratch = scratch_of(running, run)
    began = time.monotonic()
    ran = run(running, ["sh", "-c", f"kill -{signal.SIGSTOP} $PPID; sleep {FOREVER}"], timeout=0.3)
    assert ran.result.ending is Ending.DEADLINE
    assert time.monotonic() - began < AT_ONCE
    assert processes_with(scratch) == set()


def test_scratch_folder_goes_and_the_link_too(own: ProcessSandbox, place, run) -> None:
    running = own.start(place.spec())
    scratch = scratch_of(running, run)
    assert scratch.is_dir()
    assert (place.workspace / "haystack").is_symlink()
    running.collect()
    assert not scratch.exists()
    assert not (place.workspace / "haystack").is_symlink()
    assert place.haystack.is_dir()


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("echo more >>haystack/trajectories/t1/0000.txt", ["trajectories/t1/0000.txt"]),
        ("chmod 600 haystack/trajectories/t1/0000.txt", ["trajectories/t1/0000.txt"]),
        ("touch haystack/trajectories/t1/0000.txt", ["trajectories/t1/0000.txt"]),
        ("rm haystack/trajectories/t1/0000.txt", ["trajectories/t1", "trajectories/t1/0000.txt"]),
        ("cat haystack/trajectories/t1/0000.txt; ls -R haystack", []),
    ],
    ids=["appended", "mode", "time", "removed", "read"],
)
def test_changes_of_the_haystack_are_told(
    own: ProcessSandbox, place, run, script: str, changed: list[str]
) -> None:
    running = own.start(place.spec())
    run(running, ["sh", "-c", f"sleep 0.01; {script}"])
    assert running.collect().read_only_violations == tuple(str(place.haystack / name) for name in changed)


def test_a_later_sandbox_is_not_blamed_for_a_change(own: ProcessSandbox, place, run) -> None:
    first = own.start(place.spec())
    run(first, ["rm", "haystack/trajectories/t1/0000.txt"])
    assert first.collect().read_only_violations
    assert own.start(place.spec()).collect().read_only_violations == ()


def test_mounts_with_absolute_targets_are_where_they_come_from(own: ProcessSandbox, place, run) -> None:
    tools = Mount(place.haystack, "/opt/tools")
    located = own.locate(place.workspace, tools)
    running = own.start(place.spec(mounts=(tools,)))
    assert run(running, ["ls", located]).stdout == b"trajectories\n"
    assert running.collect().read_only_violations == ()


def test_a_start_that_fails_leaves_nothing(own: ProcessSandbox, place) -> None:
    before = set(place.workspace.parent.iterdir())
    (place.workspace / "taken").touch()
    mounts = (Mount(place.haystack, "haystack"), Mount(place.haystack, "taken"))
    with pytest.raises(SandboxError, match="cannot link"):
        own.start(place.spec(mounts=mounts))
    assert sorted(path.name for path in place.workspace.iterdir()) == ["taken"]
    with pytest.raises(SandboxError):
        own.start(SandboxSpec(place.workspace / "missing", Limits(wall_seconds=5)))
    assert set(place.workspace.parent.iterdir()) == before


def test_snapshot_tells_what_is_new_gone_and_changed(tmp_path: Path) -> None:
    for name in ("same", "gone", "changed"):
        (tmp_path / name).write_text("x")
    before = Snapshot.take(tmp_path)
    (tmp_path / "gone").unlink()
    (tmp_path / "changed").write_text("longer")
    (tmp_path / "new").touch()
    assert Snapshot.take(tmp_path).differences(before) == ["changed", "gone", "new"]
