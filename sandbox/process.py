"""The back end without isolation: plain processes of this machine, with deadlines and limits of output.

Only for commands that are trusted or that run where nothing else is to be had. Mounts cannot be made, so a
relative one becomes a link in the workspace and what it shows is compared before and after.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sandbox.accounts import Account
from sandbox.init import descendants, signal_all
from sandbox.protocol import Capability, Collected, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.supervised import INIT, SupervisedSandbox
from sandbox.workspace import take_back

STOP_SECONDS = 2.0
VIOLATIONS_SHOWN = 20

Snapshot = Mapping[str, tuple[int, int, int]]


class ProcessSandbox:
    """Processes of this machine; no isolation."""

    name = "process"
    capabilities = frozenset(
        {Capability.EXEC, Capability.DEADLINE, Capability.COLLECT, Capability.DISK, Capability.SURVIVES_KILL}
    )

    @property
    def python(self) -> str:
        return sys.executable

    def locate(self, workspace: Path, mount: Mount) -> str:
        if mount.target.startswith("/"):
            return str(mount.source.absolute())
        return str(workspace.absolute() / mount.target)

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        return SupervisedSandbox(spec, _ProcessCage(spec))


class _ProcessCage:
    """Init as an ordinary process and subreaper, in a session of its own."""

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self.workdir = str(spec.workspace)
        self._links = {
            spec.workspace / mount.target: mount.source
            for mount in spec.mounts
            if not mount.target.startswith("/")
        }
        for link, source in self._links.items():
            _make_link(link, source)
        self._before = {source: take_snapshot(source) for source in self._links.values()}
        self._scratch = Path(tempfile.mkdtemp(prefix="scratch-"))
        home, temporary = self._scratch / "home", self._scratch / "tmp"
        home.mkdir()
        temporary.mkdir()
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
        }

    def launch(self, control: int, seconds: float) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-S", str(INIT), "--seconds", str(seconds), "--serve", str(control)]
        argv += ["--file-bytes", str(self._spec.limits.file_bytes)]
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            cwd=self._spec.workspace,
            pass_fds=[control],
            start_new_session=True,
        )

    def destroy(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            signal_all(descendants(process.pid), signal.SIGKILL)
            process.kill()
            process.wait()

    def report(self) -> Collected:
        changed: list[str] = []
        for link, source in self._links.items():
            if link.is_symlink():
                link.unlink()
            changed += [
                str(source / name) for name in differences(self._before[source], take_snapshot(source))
            ]
        shutil.rmtree(self._scratch, ignore_errors=True)
        take_back(self._spec.workspace, Account.of_caller())
        return Collected(read_only_violations=tuple(changed[:VIOLATIONS_SHOWN]))


def _make_link(link: Path, source: Path) -> None:
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source.absolute(), target_is_directory=True)
    except OSError as error:
        raise SandboxError(f"cannot link {source} into the workspace: {error.strerror}") from error


def take_snapshot(folder: Path) -> Snapshot:
    """(size, mtime in ns, mode) of every file and folder below, by path relative to `folder`."""
    found = {}
    ahead = [""]
    while ahead:
        prefix = ahead.pop()
        with suppress(OSError), os.scandir(folder / prefix) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                name = prefix + entry.name
                found[name] = (status.st_size, status.st_mtime_ns, status.st_mode)
                if entry.is_dir(follow_symlinks=False):
                    ahead.append(name + "/")
    return found


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """The paths that are new, gone or changed, sorted."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
