"""The back end without isolation: plain processes of this machine, with deadlines and limits of output.

Only for commands that are trusted or that run where nothing else is to be had. Mounts cannot be made, so a
relative one becomes a link in the workspace and what it shows is compared before and after.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from sandbox.accounts import Account
from sandbox.cage import INIT
from sandbox.init import DEADLINE_EXIT, STOPPED_EXIT, descendants, signal_all
from sandbox.protocol import Capability, Collected, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.snapshot import Snapshots
from sandbox.supervised import SupervisedSandbox

STOP_SECONDS = 2.0
VIOLATIONS_SHOWN = 20


class ProcessSandbox:
    """Processes of this machine; no isolation."""

    name = "process"

    @property
    def capabilities(self) -> frozenset[Capability]:
        known = {Capability.EXEC, Capability.DEADLINE, Capability.COLLECT, Capability.DISK}
        # Elsewhere an orphan is nobody's descendant any more, and not found once we are gone.
        return frozenset(known | {Capability.SURVIVES_KILL} if sys.platform == "linux" else known)

    def __init__(self) -> None:
        self._snapshots = Snapshots()

    @property
    def python(self) -> str:
        return sys.executable

    def locate(self, workspace: Path, mount: Mount) -> str:
        if mount.target.startswith("/"):
            return str(mount.source.absolute())
        return str(workspace.absolute() / mount.target)

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        return SupervisedSandbox(spec, _ProcessCage(spec, self._snapshots))


class _ProcessCage:
    """Init as an ordinary process and subreaper, in a session of its own."""

    def __init__(self, spec: SandboxSpec, snapshots: Snapshots) -> None:
        self.account = Account(os.geteuid(), os.getegid())
        self._spec = spec
        self._snapshots = snapshots
        self.workdir = str(spec.workspace.absolute())
        self._init: int | None = None
        self._links = _Links(spec)
        try:
            self._before = {source: snapshots.latest(source) for source in self._links.sources}
            self._scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=Path(self.workdir).parent))
        except OSError as error:
            self._links.remove()
            raise SandboxError(f"cannot make a scratch folder: {error}") from error
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self._make_scratch("home"),
            "TMPDIR": self._make_scratch("tmp"),
            "LANG": "C.UTF-8",
        }

    def pids(self) -> list[int]:
        return sorted(descendants(self._init)) if self._init is not None else []

    def launch(self, control: int, seconds: float) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-S", str(INIT), "--seconds", str(seconds), "--serve", str(control)]
        argv += ["--file-bytes", str(self._spec.limits.file_bytes), "--scratch", str(self._scratch)]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
            cwd=self._spec.workspace,
            pass_fds=[control],
            start_new_session=True,
        )
        self._init = process.pid
        return process

    def destroy(self, process: subprocess.Popen[bytes]) -> None:
        """Ask init to kill all it has; do it ourselves where init is frozen or was killed."""
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            signal_all(descendants(process.pid), SIGKILL)
            process.kill()
            process.wait()
        if process.returncode not in (STOPPED_EXIT, DEADLINE_EXIT):
            while left := processes_with(self._scratch):
                signal_all(left, SIGKILL)

    def report(self) -> Collected:
        shutil.rmtree(self._scratch, ignore_errors=True)
        changed: list[str] = []
        for source, before in self._before.items():
            changed += [str(source / name) for name in self._snapshots.renew(source).differences(before)]
        self._links.remove()
        return Collected(read_only_violations=tuple(changed[:VIOLATIONS_SHOWN]))

    def _make_scratch(self, name: str) -> str:
        folder = self._scratch / name
        folder.mkdir()
        return str(folder)


class _Links:
    """Relative mounts as links in the workspace."""

    def __init__(self, spec: SandboxSpec) -> None:
        """Make them.

        Raises:
            SandboxError: one cannot be made; none is left.
        """
        self._made: list[Path] = []
        self.sources: list[Path] = []
        for mount in spec.mounts:
            if mount.target.startswith("/"):
                continue
            link = spec.workspace.absolute() / mount.target
            try:
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(mount.source.absolute(), target_is_directory=True)
            except OSError as error:
                self.remove()
                raise SandboxError(
                    f"cannot link {mount.source} into the workspace: {error.strerror}"
                ) from error
            self._made.append(link)
            self.sources.append(mount.source.absolute())

    def remove(self) -> None:
        for link in self._made:
            if link.is_symlink():
                link.unlink()


def processes_with(scratch: Path) -> set[int]:
    """Pids of the processes whose environment names the scratch folder; none where there is no /proc."""
    marks = {f"HOME={scratch / 'home'}".encode(), f"TMPDIR={scratch / 'tmp'}".encode()}
    found = set()
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with suppress(OSError):
                    if marks.intersection(Path(entry.path, "environ").read_bytes().split(b"\0")):
                        found.add(int(entry.name))
    return found
