"""Who owns a running container, and the removal of what a crashed process left.

Each process that starts containers holds a file of its own under flock in one folder of the user. The kernel
drops the lock when the process dies, however it dies. Containers carry labels that say whose they are: host,
boot, the folder and the file. Only containers of this host and this folder are ever judged, so that several
hosts or users can share one engine.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import platform
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound

from sandbox.protocol import SandboxError

LABEL = "agent-runbook"
HOST_LABEL = f"{LABEL}.host"
BOOT_LABEL = f"{LABEL}.boot"
FOLDER_LABEL = f"{LABEL}.folder"
OWNER_LABEL = f"{LABEL}.owner"

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID = Path("/etc/machine-id")


def owners_folder() -> Path:
    """Where owner files lie unless told otherwise: under RUNBOOK_HOME, else in the user's state folder."""
    if home := os.environ.get("RUNBOOK_HOME"):
        return Path(home).expanduser().resolve() / "owners"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "agent-runbook" / "owners"


class Owner:
    """A live process as owner of sandboxes: a file that is locked as long as the process lives.

    Use as a context manager; close it after the last sandbox is gone.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def open(cls, folder: Path | None = None) -> Self:
        """Create and lock a new owner file in `folder` (default `owners_folder()`).

        Raises:
            SandboxError: the folder cannot be written or does not support locks.
        """
        folder = folder or owners_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            while True:
                path = folder / secrets.token_hex(8)
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # A reaper that came between the two calls has taken the file for a stale one.
                if os.fstat(descriptor).st_nlink:
                    return cls(path, descriptor)
                os.close(descriptor)
        except OSError as error:
            raise SandboxError(
                f"cannot hold a lock in {folder}: {error.strerror}",
                mend="set RUNBOOK_HOME to a folder on a local disk that you can write",
            ) from error

    @property
    def labels(self) -> dict[str, str]:
        """What a container must carry to be found and judged by `reap`."""
        return {
            HOST_LABEL: _host(self.path.parent),
            BOOT_LABEL: _boot(),
            FOLDER_LABEL: _folder_identity(self.path.parent),
            OWNER_LABEL: self.path.name,
        }

    def close(self) -> None:
        """Give up ownership; whatever still carries the labels may be reaped from now on."""
        if self._descriptor is None:
            return
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Leftover:
    """A container whose owner is dead."""

    container: str
    labels: dict[str, str]


def find_leftovers(engine: DockerClient, folder: Path | None = None) -> list[Leftover]:
    """The containers of dead owners of this host and folder; nothing is changed.

    Raises:
        SandboxError: the engine does not answer.
    """
    folder = folder or owners_folder()
    wanted = {"label": [f"{HOST_LABEL}={_host(folder)}", OWNER_LABEL]}
    try:
        found = engine.api.containers(all=True, filters=wanted)
    except DockerException as error:
        raise SandboxError(f"the docker engine does not list containers: {error}") from error
    return [
        Leftover(entry["Id"], dict(entry["Labels"])) for entry in found if _is_dead(entry["Labels"], folder)
    ]


def reap(engine: DockerClient, folder: Path | None = None) -> list[Leftover]:
    """Remove the containers of dead owners, with their anonymous volumes, and stale owner files.

    Returns what was removed; one that goes away by itself meanwhile counts as removed.

    Raises:
        SandboxError: the engine does not answer.
    """
    folder = folder or owners_folder()
    removed = []
    for leftover in find_leftovers(engine, folder):
        try:
            engine.api.remove_container(leftover.container, v=True, force=True)
        except NotFound:
            pass
        except APIError as error:
            if error.status_code != 409:  # "removal is already in progress"
                raise SandboxError(f"cannot remove {leftover.container[:12]}: {error.explanation}") from error
        removed.append(leftover)
    remove_stale_owner_files(folder)
    return removed


def remove_stale_owner_files(folder: Path) -> None:
    """Remove owner files that nobody holds; call after the things they own are gone."""
    with contextlib.suppress(FileNotFoundError):
        for path in list(folder.iterdir()):
            with _lock_if_free(path) as free:
                if free:
                    path.unlink(missing_ok=True)


def _is_dead(labels: dict[str, str], folder: Path) -> bool:
    if labels.get(BOOT_LABEL) != _boot():
        return True
    # The same path can be another folder (a container's own /root, a remounted disk): then its owners are
    # not to be seen from here, and a missing file says nothing.
    if labels.get(FOLDER_LABEL) != _folder_identity(folder):
        return False
    name = labels[OWNER_LABEL]
    return "/" not in name and not _is_held(folder / name)


def _is_held(path: Path) -> bool:
    with _lock_if_free(path) as free:
        return not free


@contextlib.contextmanager
def _lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock on an existing file, and say whether it could be had."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        yield error.errno == errno.ENOENT
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def _host(folder: Path) -> str:
    """This host and user folder, the same after a reboot."""
    machine = _MACHINE_ID.read_text() if _MACHINE_ID.is_file() else ""
    parts = [machine.strip(), platform.node(), str(os.geteuid()), os.path.abspath(folder)]  # noqa: PTH100
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _boot() -> str:
    return _BOOT_ID.read_text().strip() if _BOOT_ID.is_file() else ""


def _folder_identity(folder: Path) -> str:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"
