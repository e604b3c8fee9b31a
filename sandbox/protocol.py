"""The one contract of every sandbox back end: start, exec, stop, collect.

A `Sandbox` is a back end (docker, bubblewrap, process). `start` turns a `SandboxSpec` into a
`RunningSandbox`: one isolated place that lives at most `limits.wall_seconds`, whatever its processes do.
Errors are typed by whose fault they are: a command's own failure is its exit code, a limit that was hit is
an `Ending`, and only the back end's own failure is an exception (`SandboxError`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

MIB = 1024 * 1024


class SandboxError(Exception):
    """The sandbox itself failed; never the fault of the command inside.

    `mend` says in one sentence what the user can do about it.
    """

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(f"{message} ({mend})" if mend else message)
        self.mend = mend


class Capability(StrEnum):
    """What a back end promises; the conformance suite tests exactly what is declared."""

    EXEC = "exec"  # run commands: exit codes, streamed output, output cap
    DEADLINE = "deadline"  # every process ends at the deadline, also one that left its session
    COLLECT = "collect"  # the workspace comes back owned by the caller
    FILESYSTEM = "filesystem"  # nothing of the host but the mounts is visible, root is read-only
    READ_ONLY = "read_only"  # mounts cannot be written
    NO_NETWORK = "no_network"  # loopback only
    PROCESSES = "processes"  # host processes are invisible
    LIMITS = "limits"  # memory, cpu and process-count limits
    DISK = "disk"  # a flood of bytes or files in the workspace ends the sandbox
    SURVIVES_KILL = "survives_kill"  # a kill -9 of our process leaves nothing beyond the deadline


class Ending(StrEnum):
    """Why an execution ended."""

    EXITED = "exited"  # by itself; see exit_code
    DEADLINE = "deadline"  # its timeout, or the sandbox's wall clock
    DISK_LIMIT = "disk_limit"  # the workspace grew over limits.workspace_bytes or workspace_files
    STOPPED = "stopped"  # stop() was called
    LOST = "lost"  # the container or engine went away underneath


@dataclass(frozen=True, slots=True)
class Mount:
    """A host folder shown read-only inside.

    `target` is relative to the workspace ("haystack") or absolute ("/opt/tools").
    """

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of one sandbox; each is enforced where the back end declares the capability."""

    wall_seconds: float
    memory_bytes: int = 2048 * MIB
    cpus: float = 1.0
    pids: int = 256
    file_bytes: int = 256 * MIB  # RLIMIT_FSIZE: the largest file any process may write
    workspace_bytes: int = 512 * MIB
    workspace_files: int = 20_000
    scratch_bytes: int = 512 * MIB  # each of the tmpfs /tmp and HOME
    output_bytes: int = 64 * MIB  # kept of each output stream of one execution; the rest is counted

    @property
    def tmpfs_bytes(self) -> int:
        """Bytes of each tmpfs. Files there are memory that no process can be killed for, so they must leave
        room, or the kernel takes init and with it the sandbox."""
        return min(self.scratch_bytes, self.memory_bytes // 4)


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to start. `workspace` is the only host folder that can be written from inside."""

    workspace: Path
    limits: Limits
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)  # run, attempt: seen on the host only


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of output as it arrived; `at` is `time.monotonic()` at arrival."""

    stream: Literal["stdout", "stderr"]
    data: bytes
    at: float


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How an execution ended. `exit_code` is None unless it exited (128 + n for signal n)."""

    ending: Ending
    exit_code: int | None
    seconds: float
    dropped_bytes: Mapping[str, int]  # per stream, what came beyond limits.output_bytes


@dataclass(frozen=True, slots=True)
class Collected:
    """What is known once a sandbox is gone; the workspace then lies at `spec.workspace`, ours again."""

    oom_kills: int = 0  # processes the kernel killed for memory
    main_oom: bool = False  # the executed command itself (exit 137 with an oom kill), not just a child
    memory_peak_bytes: int | None = None
    disk_limit: str = ""  # what was exceeded, "" if nothing
    read_only_violations: tuple[str, ...] = ()  # mounted files that changed, where mounts cannot be enforced
    notes: tuple[str, ...] = ()


class Execution(Protocol):
    """A running command: iterate for output as it arrives, then ask for the result."""

    def __iter__(self) -> Iterator[Chunk]: ...

    def result(self) -> ExecResult:
        """Drain what is left, wait for the end, and say how it ended."""
        ...


@runtime_checkable
class RunningSandbox(Protocol):
    """One started sandbox. `stop` may be called from any thread, any number of times."""

    @property
    def workdir(self) -> str:
        """The workspace as seen from inside; the working directory of every execution."""
        ...

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Execution:
        """Start a command. stdin is given whole and closed. At `timeout` the whole sandbox dies."""
        ...

    def stop(self) -> None:
        """Kill every process, children included, and release everything but the workspace."""
        ...

    def collect(self) -> Collected:
        """Stop if need be, give the workspace back to the caller, and report."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """A back end."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def python(self) -> str:
        """Absolute path of the Python interpreter inside."""
        ...

    def locate(self, workspace: Path, mount: Mount) -> str:
        """Where `mount` will be seen from inside a sandbox with that workspace."""
        ...

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        """Start a sandbox.

        Raises:
            SandboxError: the back end cannot start it; nothing is left behind.
        """
        ...
