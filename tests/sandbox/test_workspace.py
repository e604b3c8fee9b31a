"""Workspaces change hands without following anything that lies in them."""

import os
import stat
from pathlib import Path, PurePosixPath

import pytest

from sandbox.accounts import Account
from sandbox.protocol import SandboxError
from sandbox.workspace import MountPoints, lend, take_back

STRANGER = Account(12345, 12346)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def owners(folder: Path) -> set[tuple[int, int]]:
    return {(path.lstat().st_uid, path.lstat().st_gid) for path in [folder, *folder.rglob("*")]}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


@as_root
def test_everything_is_lent_and_comes_back(workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "a" / "b" / "file").write_text("x")
    lend(workspace, STRANGER)
    assert owners(workspace) == {(12345, 12346)}
    take_back(workspace, STRANGER)
    assert owners(workspace) == {(os.geteuid(), os.getegid())}


@as_root
def test_links_change_owner_and_their_targets_do_not(workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "file").write_text("x")
    (workspace / "folder").symlink_to(target)
    (workspace / "file").symlink_to(target / "file")
    (workspace / "loop").symlink_to("loop")
    before = owners(target)
    lend(workspace, STRANGER)
    assert (owners(workspace), owners(target)) == ({(12345, 12346)}, before)
    take_back(workspace, STRANGER)
    assert owners(workspace) == before


@as_root
@pytest.mark.usefixtures("removes_deep_trees")
def test_tree_deeper_than_any_path_may_be_long(workspace: Path) -> None:
    bottom = os.open(workspace, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=bottom)
        below = os.open("deep", os.O_RDONLY, dir_fd=bottom)
        os.close(bottom)
        bottom = below
    os.mkdir("bottom", dir_fd=bottom)
    lend(workspace, STRANGER)
    assert os.stat("bottom", dir_fd=bottom).st_uid == 12345
    take_back(workspace, STRANGER)
    assert os.stat("bottom", dir_fd=bottom).st_uid == os.geteuid()
    os.close(bottom)


@as_root
def test_tree_of_many_files(workspace: Path) -> None:
    parent = os.open(workspace, os.O_RDONLY)
    for number in range(5_000):
        os.mknod(f"{number}", dir_fd=parent)
    os.close(parent)
    lend(workspace, STRANGER)
    assert owners(workspace) == {(12345, 12346)}
    take_back(workspace, STRANGER)
    assert owners(workspace) == {(os.geteuid(), os.getegid())}


def test_modes_are_mended_so_that_the_owner_can_read_and_nobody_gains_rights(workspace: Path) -> None:
    locked, secret, program = workspace / "locked", workspace / "locked" / "secret", workspace / "program"
    locked.mkdir()
    secret.write_text("x")
    program.write_text("x")
    secret.chmod(0)
    program.chmod(0o6755)
    locked.chmod(0)
    workspace.chmod(0o500)
    assert take_back(workspace, Account.of_caller()) == 4
    assert [stat.S_IMODE(path.stat().st_mode) for path in (workspace, locked, secret, program)] == [
        0o700,
        0o700,
        0o400,
        0o755,
    ]


def test_mode_of_a_links_target_stays(workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("x")
    target.chmod(0)
    (workspace / "link").symlink_to(target)
    os.mkfifo(workspace / "fifo", 0)
    assert take_back(workspace, Account.of_caller()) == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0


def test_mount_points_are_made_and_removed_again(workspace: Path) -> None:
    (workspace / "kept").mkdir()
    points = MountPoints.make(workspace, [PurePosixPath("haystack"), PurePosixPath("kept/a/b")])
    assert (workspace / "haystack").is_dir()
    assert (workspace / "kept" / "a" / "b").is_dir()
    points.remove()
    assert [path.name for path in workspace.rglob("*")] == ["kept"]


def test_mount_point_with_something_in_it_stays(workspace: Path) -> None:
    points = MountPoints.make(workspace, [PurePosixPath("haystack")])
    (workspace / "haystack" / "written").write_text("x")
    points.remove()
    assert (workspace / "haystack" / "written").read_text() == "x"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_mount_point_is_not_made_through_a_link_or_over_a_file(
    workspace: Path, tmp_path: Path, kind: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "link":
        (workspace / "data").symlink_to(elsewhere)
    else:
        (workspace / "data").write_text("x")
    with pytest.raises(SandboxError, match="mount point"):
        MountPoints.make(workspace, [PurePosixPath("first"), PurePosixPath("data/haystack")])
    assert list(elsewhere.iterdir()) == []
    assert not (workspace / "first").exists()


def test_removal_does_not_go_through_a_link_put_in_place(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "b").mkdir(parents=True)
    points = MountPoints.make(workspace, [PurePosixPath("a/b")])
    (workspace / "a" / "b").rmdir()
    (workspace / "a").rmdir()
    (workspace / "a").symlink_to(elsewhere)
    points.remove()
    assert (elsewhere / "b").is_dir()
