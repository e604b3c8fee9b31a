"""The back end for machines without Docker: Linux namespaces by bubblewrap, limits by control groups.

Commands run as uid 1000 without any capability. For an ordinary caller that is the caller, mapped by a user
namespace. For root it is another user indeed, to whom the workspace is lent: a process that is root outside
could, capabilities or not, write to /proc/sys and change the mode of the host's devices. The root is
read-only and put together from /usr and a few files of /etc.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandbox.accounts import HOME, ORDINARY, Account
from sandbox.cgroup import Group, Groups
from sandbox.protocol import Capability, Collected, Limits, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.supervised import INIT, SupervisedSandbox
from sandbox.workspace import MountPoints, lend, take_back

WORKSPACE = "/workspace"
INIT_INSIDE = "/run/init.py"
PATH_INSIDE = "/usr/local/bin:/usr/bin:/bin"
STOP_SECONDS = 2.0
TRYOUT_SECONDS = 30.0
# bwrap itself cannot run as the limited process, so a shell enters the groups first.
ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'
SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
)
GENERATED = {
    "/etc/passwd": Account(ORDINARY, ORDINARY).passwd,
    "/etc/group": Account(ORDINARY, ORDINARY).group,
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
# What init needs to become somebody else, and to give up the rest.
KEPT_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
OLDEST_PYTHON = (3, 8)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the inside and the host folder that must be mounted for it, if any."""

    path: str
    prefix: Path | None


@dataclass(frozen=True, slots=True)
class _Host:
    """What this machine has to offer."""

    program: str
    options: frozenset[str]
    interpreter: Interpreter
    groups: Groups | None
    lends: bool
    """Whether the workspace goes to another user, because the caller is root."""

    @property
    def account(self) -> Account:
        """The user that commands are, as seen from the host."""
        return Account(ORDINARY, ORDINARY) if self.lends else Account(os.geteuid(), os.getegid())


class BubblewrapSandbox:
    """Sandboxes by bubblewrap; making one of these tries everything out once."""

    name = "bubblewrap"

    def __init__(self) -> None:
        """Find bwrap, a Python and control groups, and start a sandbox to see that it works.

        Raises:
            SandboxError: it does not work on this machine, with the reason and the mend.
        """
        program = _find_program()
        options = _options_of(program)
        lends = _is_root()
        if lends and "--perms" not in options:
            raise SandboxError("bwrap is too old to be used by root", mend="install bubblewrap 0.5 or newer")
        groups = Groups.find()
        if groups is not None:
            groups.reap()
        self._host = _Host(program, options, _find_interpreter(), groups, lends)
        self._try_out()

    @property
    def capabilities(self) -> frozenset[Capability]:
        if self._host.groups is None:
            return frozenset(Capability) - {Capability.LIMITS}
        return frozenset(Capability)

    @property
    def python(self) -> str:
        return self._host.interpreter.path

    def locate(self, workspace: Path, mount: Mount) -> str:  # noqa: ARG002
        return str(PurePosixPath(WORKSPACE, mount.target))

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        workspace = spec.workspace.absolute()
        inside = [PurePosixPath(mount.target) for mount in spec.mounts if not mount.target.startswith("/")]
        points = MountPoints.make(workspace, inside)
        try:
            group = self._host.groups.make(spec.limits) if self._host.groups is not None else None
        except SandboxError:
            points.remove()
            raise
        return SupervisedSandbox(
            spec, _BubblewrapCage(self._host, spec, self._arguments(spec), points, group)
        )

    def _try_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            running = self.start(SandboxSpec(Path(folder), Limits(wall_seconds=TRYOUT_SECONDS)))
            result = running.exec([self.python, "-I", "-c", "pass"]).result()
            running.collect()
        if result.exit_code != 0:
            raise SandboxError(f"a first sandbox did not run a command: {result}")

    def _arguments(self, spec: SandboxSpec) -> list[str]:
        """Everything bwrap is told but the descriptors; the order is that of the mounts."""
        arguments = [*self._identity(), "--die-with-parent", "--new-session", "--as-pid-1"]
        arguments += ["--hostname", "sandbox", "--ro-bind", "/usr", "/usr"]
        for folder in SYSTEM_FOLDERS:
            arguments += _like_on_host(Path(folder))
        for name in SYSTEM_FILES:
            if Path(name).exists():
                arguments += [*_parents(name), "--ro-bind", name, name]
        if (prefix := self._host.interpreter.prefix) is not None:
            arguments += [*_parents(str(prefix)), "--ro-bind", str(prefix), str(prefix)]
        arguments += [
            "--dir",
            "/run",
            "--dir",
            "/var",
            "--symlink",
            "/tmp",
            "/var/tmp",
            "--symlink",
            "/run",
            "/var/run",
        ]
        arguments += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        for folder in ("/dev/shm", "/tmp", HOME):
            arguments += [*_parents(folder), *self._scratch(spec.limits), "--tmpfs", folder]
        arguments += ["--bind", str(spec.workspace.absolute()), WORKSPACE]
        for mount in spec.mounts:
            target = self.locate(spec.workspace, mount)
            arguments += [*_parents(target), "--ro-bind", str(mount.source.absolute()), target]
        return arguments

    def _identity(self) -> list[str]:
        """Namespaces, user and capabilities; init itself gives up being root where the caller is."""
        if self._host.lends:
            kept = [word for name in KEPT_CAPABILITIES for word in ("--cap-add", name)]
            spaces = [
                "--unshare-ipc",
                "--unshare-pid",
                "--unshare-net",
                "--unshare-uts",
                "--unshare-cgroup-try",
            ]
            return [*spaces, "--cap-drop", "ALL", *kept]
        nested = ["--disable-userns"] if "--disable-userns" in self._host.options else []
        user = ["--unshare-user", *nested, "--uid", str(ORDINARY), "--gid", str(ORDINARY)]
        return ["--unshare-all", *user, "--cap-drop", "ALL"]

    def _scratch(self, limits: Limits) -> list[str]:
        """Options of a folder in memory that everybody may write."""
        size = ["--size", str(limits.scratch_bytes)] if "--size" in self._host.options else []
        return [*size, "--perms", "1777"] if "--perms" in self._host.options else size


class _BubblewrapCage:
    """Init as PID 1 of its own namespaces."""

    workdir = WORKSPACE

    def __init__(
        self,
        host: _Host,
        spec: SandboxSpec,
        arguments: Sequence[str],
        points: MountPoints,
        group: Group | None,
    ) -> None:
        self._host = host
        self._spec = spec
        self._arguments = arguments
        self._points = points
        self._group = group
        self._init: int | None = None
        self.env = {"PATH": PATH_INSIDE, "HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8", "USER": "agent"}

    def launch(self, control: int, seconds: float) -> subprocess.Popen[bytes]:
        lend(self._spec.workspace, self._host.account)
        files = {name: _in_memory(text) for name, text in GENERATED.items()}
        files[INIT_INSIDE] = os.open(INIT, os.O_RDONLY | os.O_CLOEXEC)
        info_reader, info_writer = os.pipe()
        arguments = [*self._arguments, "--info-fd", str(info_writer)]
        for name, descriptor in files.items():
            arguments += ["--file", str(descriptor), name]
        arguments += ["--remount-ro", "/"]
        told = _in_memory("\0".join(arguments) + "\0")
        init = [
            self._host.interpreter.path,
            "-I",
            "-S",
            INIT_INSIDE,
            "--seconds",
            str(seconds),
            "--serve",
            str(control),
        ]
        init += ["--file-bytes", str(self._spec.limits.file_bytes)]
        if self._host.lends:
            init += ["--user", f"{ORDINARY}:{ORDINARY}"]
        try:
            process = subprocess.Popen(
                [*self._entering(), self._host.program, "--args", str(told), "--", *init],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                pass_fds=[control, told, info_writer, *files.values()],
                start_new_session=True,
            )
        finally:
            for descriptor in (told, info_writer, *files.values()):
                os.close(descriptor)
        with os.fdopen(info_reader, "rb") as info:
            said = info.read()
        if said:
            with suppress(ProcessLookupError):
                self._init = os.pidfd_open(json.loads(said)["child-pid"])
        return process

    def destroy(self, process: subprocess.Popen[bytes]) -> None:
        """Kill PID 1: the kernel then kills everything in its namespace, and bwrap ends."""
        if self._init is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            os.close(self._init)
            self._init = None
        else:
            process.kill()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def report(self) -> Collected:
        self._points.remove()
        take_back(self._spec.workspace, self._host.account)
        if self._group is None:
            return Collected()
        kills, peak = self._group.oom_kills(), self._group.memory_peak()
        notes = () if self._group.remove() else ("a control group could not be removed yet",)
        return Collected(oom_kills=kills, memory_peak_bytes=peak, notes=notes)

    def _entering(self) -> list[str]:
        if self._group is None:
            return []
        return ["/bin/sh", "-c", ENTER_GROUPS, "sh", *map(str, self._group.entrances), "--"]


def _find_program() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError("bwrap is not installed", mend="install the package bubblewrap")
    return program


def _options_of(program: str) -> frozenset[str]:
    """The options that this version of bwrap knows."""
    helped = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return frozenset(word for word in (helped.stdout + helped.stderr).split() if word.startswith("--"))


def _find_interpreter() -> Interpreter:
    """The system's Python where it is recent enough, else the one that runs us."""
    system = "/usr/bin/python3"
    if _version_of(system) >= OLDEST_PYTHON:
        return Interpreter(system, None)
    prefix = Path(sys.base_prefix)
    own = prefix / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if _version_of(str(own)) >= OLDEST_PYTHON:
        return Interpreter(str(own), None if prefix.is_relative_to("/usr") else prefix)
    raise SandboxError(
        "there is no Python for the sandbox", mend="install python3 (3.8 or newer) in /usr/bin"
    )


def _version_of(python: str) -> tuple[int, ...]:
    asked = "import sys; print(*sys.version_info[:2])"
    try:
        told = subprocess.run(
            [python, "-I", "-S", "-c", asked], capture_output=True, text=True, check=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(map(int, told.stdout.split()))


def _is_root() -> bool:
    """Whether we are root and may become an ordinary user.

    Raises:
        SandboxError: root of a user namespace that has no other user.
    """
    if os.geteuid() != 0:
        return False
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        inside, _, count = map(int, line.split())
        if inside <= ORDINARY < inside + count:
            return True
    raise SandboxError(
        f"this user namespace has no uid {ORDINARY}, and a sandbox must not run as root",
        mend="run as an ordinary user",
    )


def _parents(path: str) -> list[str]:
    """Make the folders above `path`; those that bwrap makes by itself may be closed to others."""
    above = [str(parent) for parent in reversed(PurePosixPath(path).parents)][1:]
    return [word for folder in above for word in ("--dir", folder)]


def _like_on_host(folder: Path) -> list[str]:
    """Show a system folder as it is here: a link into /usr, a folder of its own, or not at all."""
    if folder.is_symlink():
        return ["--symlink", str(folder.readlink()), str(folder)]
    return ["--ro-bind", str(folder), str(folder)] if folder.is_dir() else []


def _in_memory(text: str) -> int:
    """A descriptor from which `text` can be read."""
    descriptor = os.memfd_create("text", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
