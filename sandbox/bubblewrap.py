"""The back end for machines without Docker: Linux namespaces by bubblewrap, limits by control groups.

Commands run as uid 1000 without any capability. For an ordinary caller that is the caller, mapped by a user
namespace. For root it is another user indeed, to whom the workspace is lent: a process that is root outside
could, capabilities or not, write to /proc/sys and change the mode of the host's devices. The root is
read-only and put together from /usr and a few files of /etc.
"""

import json
import os
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from signal import SIGKILL

from sandbox.accounts import HOME, ORDINARY
from sandbox.bubblewrap_host import Host
from sandbox.bubblewrap_root import (
    GENERATED_FILES,
    WORKSPACE,
    file_arguments,
    inside,
    namespace_arguments,
    root_arguments,
)
from sandbox.cage import INIT
from sandbox.cgroup import Group
from sandbox.init import descendants
from sandbox.protocol import Capability, Collected, Limits, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.seccomp import filter_program
from sandbox.supervised import SupervisedSandbox
from sandbox.workspace import MountPoints

INIT_INSIDE = "/run/init.py"
STOP_SECONDS = 2.0
TRYOUT_SECONDS = 30.0
MEND = (
    "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone), or use Docker"
)
# bwrap must be in the groups before it makes namespaces, so a shell enters them and becomes bwrap.
ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'


class BubblewrapSandbox:
    """Sandboxes by bubblewrap."""

    name = "bubblewrap"

    def __init__(self, host: Host | None = None) -> None:
        """Remove groups that a crash left, and try a first sandbox out.

        Args:
            host: what to make sandboxes of; by default we look what is here.

        Raises:
            SandboxError: it does not work on this machine, with the reason and the mend.
        """
        self._host = host or Host.find()
        if self._host.groups is not None:
            self._host.groups.reap()
        self._try_out()

    @property
    def capabilities(self) -> frozenset[Capability]:
        missing = set() if self._host.groups is not None else {Capability.LIMITS}
        return frozenset(Capability) - missing

    @property
    def python(self) -> str:
        return self._host.interpreter.path

    def locate(self, workspace: Path, mount: Mount) -> str:  # noqa: ARG002
        return inside(mount)

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        relative = [PurePosixPath(mount.target) for mount in spec.mounts if not mount.target.startswith("/")]
        points = MountPoints.make(spec.workspace.absolute(), relative)
        try:
            group = self._host.groups.make(spec.limits) if self._host.groups is not None else None
        except SandboxError:
            points.remove()
            raise
        return SupervisedSandbox(spec, _BubblewrapCage(self._host, spec, points, group))

    def _try_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                running = self.start(SandboxSpec(Path(folder), Limits(wall_seconds=TRYOUT_SECONDS)))
            except SandboxError as error:
                raise SandboxError(f"bubblewrap cannot start a sandbox: {error}", mend=MEND) from error
            result = running.exec([self.python, "-I", "-c", "pass"]).result()
            running.collect()
        if result.exit_code != 0:
            raise SandboxError(f"a first sandbox by bubblewrap did not run a command: {result}", mend=MEND)


class _BubblewrapCage:
    """Init as PID 1 of its own namespaces."""

    workdir = WORKSPACE

    def __init__(self, host: Host, spec: SandboxSpec, points: MountPoints, group: Group | None) -> None:
        self.account = host.account
        self._host = host
        self._spec = spec
        self._points = points
        self._group = group
        self._init: int | None = None
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": HOME,
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
        }

    def pids(self) -> list[int]:
        if self._group is not None:
            return self._group.pids()
        return sorted(descendants(self._init)) if self._init is not None else []

    def launch(self, control: int, seconds: float) -> subprocess.Popen[bytes]:
        info_reader, info_writer = os.pipe()
        with ExitStack() as opened, os.fdopen(info_reader, "rb") as info:
            opened.callback(os.close, info_writer)
            passed = {name: _in_memory(text.encode()) for name, text in GENERATED_FILES.items()}
            passed[INIT_INSIDE] = os.open(INIT, os.O_RDONLY | os.O_CLOEXEC)
            arguments = [*namespace_arguments(self._host), "--info-fd", str(info_writer)]
            arguments += [*root_arguments(self._host, self._spec), *file_arguments(self._host, passed)]
            if rules := filter_program():
                passed["system calls"] = _in_memory(rules)
                arguments += ["--seccomp", str(passed["system calls"])]
            passed["arguments"] = _in_memory(b"".join(os.fsencode(word) + b"\0" for word in arguments))
            for descriptor in passed.values():
                opened.callback(os.close, descriptor)
            process = subprocess.Popen(
                [
                    *self._entering(),
                    *(self._host.program, "--args", str(passed["arguments"]), "--"),
                    *self._init_command(control, seconds),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                pass_fds=[control, info_writer, *passed.values()],
                start_new_session=True,
            )
            opened.close()
            said = info.read()
        self._init = json.loads(said)["child-pid"] if said else None
        return process

    def destroy(self, process: subprocess.Popen[bytes]) -> None:
        """Kill PID 1: the kernel then kills everything in its namespace, and bwrap ends."""
        # Until bwrap has ended, the pid is that of init or of its remains.
        if self._init is None:
            process.kill()
        elif process.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._init, SIGKILL)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def report(self) -> Collected:
        known = Collected()
        if self._group is not None:
            kills, peak = self._group.oom_kills(), self._group.memory_peak()
            notes = () if self._group.remove() else ("a control group could not be removed yet",)
            known = Collected(oom_kills=kills, memory_peak_bytes=peak, notes=notes)
        self._points.remove()
        return known

    def _entering(self) -> list[str]:
        if self._group is None:
            return []
        return ["/bin/sh", "-c", ENTER_GROUPS, "sh", *map(str, self._group.entrances), "--"]

    def _init_command(self, control: int, seconds: float) -> list[str]:
        command = [self._host.interpreter.path, "-I", "-S", INIT_INSIDE, "--seconds", str(seconds)]
        command += ["--serve", str(control), "--file-bytes", str(self._spec.limits.file_bytes)]
        if self._host.lends:
            command += ["--user", f"{ORDINARY}:{ORDINARY}"]
        if self._group is None and self._host.limits_processes:
            command += ["--processes", str(self._spec.limits.pids)]
        return command


def _in_memory(data: bytes) -> int:
    """A descriptor from which `data` can be read."""
    descriptor = os.memfd_create("data", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
