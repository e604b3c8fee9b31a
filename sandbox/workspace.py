"""The workspace across the border of a sandbox: lent to the account inside, taken back afterwards.

What lies in a workspace after a run was made by somebody else: links to anywhere, FIFOs, names that are no
text, folders without permissions, trees deeper than a path may be long. No call here follows a link or
resolves a path of more than one name, and none needs more than two open folders.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.accounts import Account
from sandbox.protocol import SandboxError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SET_ID = stat.S_ISUID | stat.S_ISGID
_CHMOD_FOLLOWS = os.chmod not in os.supports_follow_symlinks  # Linux, where a handle does instead


def lend(workspace: Path, account: Account) -> None:
    """Make everything in `workspace` the account's; only a caller who is root needs to and can.

    Hard links are other names of the same file: whatever is linked into the workspace changes owner too.

    Raises:
        SandboxError: something cannot be made the account's.
    """
    if not _changes_owner(account):
        return
    with _explained("hand over", workspace):
        os.chown(workspace, account.uid, account.gid, follow_symlinks=False)
        for folder, name, status in _walk(workspace):
            _chown(folder, name, status, account.uid, account.gid)


def take_back(workspace: Path, account: Account) -> int:
    """Make everything in `workspace` the caller's again, readable by its owner and without setuid bits.

    Returns the number of files and folders whose mode had to be changed. Safe against everything that a
    process inside may have left, and also while one should still be running.

    Raises:
        SandboxError: something cannot be made the caller's.
    """
    uid, gid = os.geteuid(), os.getegid()
    reown = _changes_owner(account)
    with _explained("take back", workspace):
        if reown:
            os.chown(workspace, uid, gid, follow_symlinks=False)
        changed = int(_mend_mode(os.fspath(workspace), None))
        for folder, name, status in _walk(workspace):
            if reown:
                _chown(folder, name, status, uid, gid)
            if _mended(status.st_mode) != stat.S_IMODE(status.st_mode):
                changed += _mend_mode(name, folder)
    return changed


@contextmanager
def _explained(action: str, workspace: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxError(f"cannot {action} {workspace}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class MountPoints:
    """The folders that were made in a workspace so that something can be mounted there, parents first."""

    workspace: Path
    made: tuple[PurePosixPath, ...]

    @classmethod
    def make(cls, workspace: Path, targets: Sequence[PurePosixPath]) -> "MountPoints":
        """Make the missing folders of `targets`, which are relative to the workspace.

        Raises:
            SandboxError: there is a link or a file on the way, or the folder cannot be made.
        """
        made: list[PurePosixPath] = []
        try:
            for target in targets:
                _make_folders(workspace, target, made)
        except OSError as error:
            cls(workspace, tuple(made)).remove()
            raise SandboxError(
                f"cannot make the mount point {target} in {workspace}: {error.strerror}"
            ) from error
        return cls(workspace, tuple(made))

    def remove(self) -> None:
        """Remove the folders that were made, if they are still empty folders."""
        for folder in reversed(self.made):
            with suppress(OSError):
                parent = _open_folder(self.workspace, folder.parent)
                try:
                    os.rmdir(folder.name, dir_fd=parent)
                finally:
                    os.close(parent)


def _make_folders(workspace: Path, target: PurePosixPath, made: list[PurePosixPath]) -> None:
    parent = os.open(workspace, _FOLDER)
    try:
        for depth, name in enumerate(target.parts, 1):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=parent)
                made.append(PurePosixPath(*target.parts[:depth]))
            child = os.open(name, _FOLDER, dir_fd=parent)
            os.close(parent)
            parent = child
    finally:
        os.close(parent)


def _open_folder(workspace: Path, inside: PurePosixPath) -> int:
    folder = os.open(workspace, _FOLDER)
    for name in inside.parts:
        try:
            child = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = child
    return folder


def _changes_owner(account: Account) -> bool:
    return os.geteuid() == 0 and account.uid != 0


def _chown(folder: int, name: str, status: os.stat_result, uid: int, gid: int) -> None:
    if (status.st_uid, status.st_gid) != (uid, gid):
        with suppress(FileNotFoundError):
            os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)


def _mended(mode: int) -> int:
    """Readable by the owner, folders also to be entered and changed; neither setuid nor setgid."""
    if stat.S_ISDIR(mode):
        return stat.S_IMODE(mode) & ~_SET_ID | stat.S_IRWXU
    if stat.S_ISREG(mode):
        return stat.S_IMODE(mode) & ~_SET_ID | stat.S_IRUSR
    return stat.S_IMODE(mode)


def _mend_mode(name: str, folder: int | None) -> bool:
    """Whether the mode of a file or folder had to be changed; no link put in its place is followed."""
    try:
        if not _CHMOD_FOLLOWS:
            mode = os.lstat(name, dir_fd=folder).st_mode
            os.chmod(name, _mended(mode), dir_fd=folder, follow_symlinks=False)
            return _mended(mode) != stat.S_IMODE(mode)
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return False
    try:
        mode = os.fstat(handle).st_mode
        if _mended(mode) == stat.S_IMODE(mode):
            return False
        os.chmod(f"/proc/self/fd/{handle}", _mended(mode))  # noqa: PTH101
        return True
    finally:
        os.close(handle)


def _walk(workspace: Path) -> Iterator[tuple[int, str, os.stat_result]]:
    """Yield (open parent folder, name, status) of everything below, a folder before what it holds.

    A folder that cannot be opened after it was yielded, or that is on another file system, is not entered.
    """
    here = os.open(workspace, _FOLDER)
    start = os.fstat(here)
    levels = [(start.st_ino, iter(os.listdir(here)))]  # noqa: PTH208
    try:
        while levels:
            name = next(levels[-1][1], None)
            if name is None:
                levels.pop()
                if levels:
                    parent = os.open("..", _FOLDER, dir_fd=here)
                    os.close(here)
                    here = parent
                    # Moved meanwhile by a process that should be dead: never climb out of the workspace.
                    if os.fstat(here).st_ino != levels[-1][0]:
                        return
                continue
            try:
                status = os.lstat(name, dir_fd=here)
            except FileNotFoundError:
                continue
            yield here, name, status
            if stat.S_ISDIR(status.st_mode) and status.st_dev == start.st_dev:
                with suppress(OSError):
                    child, names = _open_listed(here, name)
                    os.close(here)
                    here = child
                    levels.append((status.st_ino, iter(names)))
    finally:
        os.close(here)


def _open_listed(folder: int, name: str) -> tuple[int, list[str]]:
    child = os.open(name, _FOLDER, dir_fd=folder)
    try:
        return child, os.listdir(child)  # noqa: PTH208
    except OSError:
        os.close(child)
        raise
