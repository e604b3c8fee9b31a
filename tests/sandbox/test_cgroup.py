"""Control groups: where limits can be set is read from the kernel's own words, for both versions."""

from pathlib import Path

import pytest

from sandbox.cgroup import (
    GroupMount,
    Groups,
    VersionOne,
    VersionTwo,
    find_version_one,
    find_version_two,
    group_mounts,
    own_groups,
)
from sandbox.protocol import Limits

LIMITS = Limits(wall_seconds=1, memory_bytes=64 << 20, cpus=0.5, pids=10)


def test_groups_are_read_by_controller() -> None:
    told = "9:name=systemd:/\n4:cpu,cpuacct:/batch/job:1\n0::/user.slice\n"
    assert own_groups(told) == {
        "name=systemd": "/",
        "cpu": "/batch/job:1",
        "cpuacct": "/batch/job:1",
        "": "/user.slice",
    }


def test_mounts_of_groups_are_read_with_escaped_names() -> None:
    told = (
        "22 1 0:20 / /proc rw - proc proc rw\n"
        "35 31 0:32 /docker/ab /mnt/my\\040groups/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    assert group_mounts(told) == [
        GroupMount(Path("/mnt/my groups/memory"), "/docker/ab", 1, frozenset({"rw", "memory"})),
        GroupMount(Path("/sys/fs/cgroup"), "/", 2, frozenset({"rw", "nsdelegate"})),
    ]


@pytest.mark.parametrize(
    ("root", "group", "seen"),
    [
        ("/", "/job", "job"),
        ("/docker/ab", "/docker/ab/job", "job"),
        ("/docker/ab", "/docker/ab", ""),
        ("/docker/ab", "/somewhere/else", ""),
        ("/", "/not/mounted/here", ""),
    ],
)
def test_own_group_is_found_below_what_the_mount_shows(
    tmp_path: Path, root: str, group: str, seen: str
) -> None:
    (tmp_path / "job").mkdir()
    assert GroupMount(tmp_path, root, 2, frozenset()).folder_of(group) == tmp_path / seen


def test_version_one_needs_all_three_controllers(tmp_path: Path) -> None:
    own = dict.fromkeys(("memory", "pids", "cpu"), "/")
    mounts = [GroupMount(tmp_path / name, "/", 1, frozenset({name})) for name in own]
    found = find_version_one(own, mounts)
    assert found is not None
    assert set(found.parents) == {tmp_path / name for name in own}
    assert find_version_one(own, mounts[:2]) is None


def test_version_two_takes_the_nearest_group_that_hands_the_controllers_down(tmp_path: Path) -> None:
    own = tmp_path / "user.slice" / "app.slice" / "job.scope"
    own.mkdir(parents=True)
    for folder, handed in (
        (tmp_path, "cpu memory pids"),
        (own.parents[1], "cpu io memory pids"),
        (own.parent, "cpu io memory pids"),
    ):
        (folder / "cgroup.subtree_control").write_text(handed)
        (folder / "cgroup.procs").touch()
    found = find_version_two(
        {"": "/user.slice/app.slice/job.scope"}, [GroupMount(tmp_path, "/", 2, frozenset())]
    )
    assert found is not None
    assert found.parents == (own.parent,)


def test_version_two_without_a_group_of_ours_is_none(tmp_path: Path) -> None:
    assert find_version_two({"": "/"}, [GroupMount(tmp_path, "/", 2, frozenset())]) is None


def test_limits_of_version_two_are_written_for_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "memory.swap.max").touch()
    VersionTwo().set_limits(tmp_path, LIMITS)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "pids.max": "12",
        "memory.max": str(64 << 20),
        "memory.swap.max": "0",
        "cpu.max": "50000 100000",
    }


def test_kills_and_peak_are_read_and_may_be_missing(tmp_path: Path) -> None:
    assert (VersionTwo().oom_kills(tmp_path), VersionTwo().memory_peak(tmp_path)) == (0, None)
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "memory.peak").write_text("4096\n")
    assert (VersionTwo().oom_kills(tmp_path), VersionTwo().memory_peak(tmp_path)) == (2, 4096)


def test_kills_of_version_one_are_those_of_the_inner_group(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert VersionOne().oom_kills(tmp_path) == 1


def test_groups_of_this_machine_hold_processes_and_go() -> None:
    groups = Groups.find()
    if groups is None:
        pytest.skip("no control group can be made here")
    group = groups.make(LIMITS)
    assert group.pids() == []
    assert all(entrance.is_file() for entrance in group.entrances)
    assert group.remove()
    assert not any(folder.exists() for folder in group.folders)
