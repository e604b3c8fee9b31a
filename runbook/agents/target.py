"""What a tool chain is made for: the platform inside a sandbox."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.protocol import MIB, Limits, Mount, Sandbox, SandboxError, SandboxSpec

TOOLS = "/opt/agent"
"""Where a tool chain is seen inside; see `Sandbox.locate` for back ends that cannot mount."""

ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
"""What npm calls each machine that CLIs are made for."""
_ASK = (
    "import json, os, sys; print(json.dumps({'machine': os.uname().machine, 'system': os.uname().sysname, "
    "'python': list(sys.version_info[:2]), 'libc': os.confstr('CS_GNU_LIBC_VERSION')}))"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A platform."""

    machine: str
    """x86_64 or aarch64."""
    python: tuple[int, int]
    glibc: tuple[int, int]

    @property
    def arch(self) -> str:
        """The machine as npm calls it."""
        return ARCHITECTURES[self.machine]

    @property
    def python_version(self) -> str:
        """For example 3.11."""
        return ".".join(map(str, self.python))

    @classmethod
    def inside(cls, sandbox: Sandbox) -> "Target":
        """Ask a sandbox.

        Raises:
            SandboxError: it cannot be started, or is no Linux with glibc on a machine that CLIs are made for.
        """
        said = run_inside(sandbox, [sandbox.python, "-I", "-S", "-c", _ASK])
        try:
            facts = json.loads(said.stdout)
            name, _, version = (facts["libc"] or "").partition(" ")
            glibc = tuple(int(part) for part in version.split(".")[:2])
        except (ValueError, KeyError):
            raise SandboxError(f"the {sandbox.name} sandbox does not say what it is: {said.words}") from None
        if facts["system"] != "Linux" or facts["machine"] not in ARCHITECTURES or name != "glibc":
            raise SandboxError(
                f"agents can be installed for Linux with glibc on {' or '.join(ARCHITECTURES)}; the "
                f"{sandbox.name} sandbox is {facts['system']} {facts['libc'] or ''} on {facts['machine']}"
            )
        return cls(facts["machine"], (facts["python"][0], facts["python"][1]), (glibc[0], glibc[1]))


@dataclass(frozen=True, slots=True)
class Said:
    """What a short command said, and how it ended."""

    exit_code: int | None
    stdout: str
    stderr: str

    @property
    def words(self) -> str:
        """The end of its output in one printable line, with its exit code."""
        lines = [line for line in f"{self.stdout}\n{self.stderr}".splitlines() if line.strip()]
        last = " / ".join(lines[-3:])[-400:]
        printable = "".join(mark if mark.isprintable() else " " for mark in last)
        return f"exit code {self.exit_code}: {printable or 'it said nothing'}"


def run_inside(
    sandbox: Sandbox,
    argv: Sequence[str],
    *,
    mounts: tuple[Mount, ...] = (),
    env: Mapping[str, str] | None = None,
    workspace: Path | None = None,
    seconds: float = 120.0,
) -> Said:
    """Run a short command in a sandbox of its own; what it writes stays only where a `workspace` is given."""
    with tempfile.TemporaryDirectory(prefix="") as empty:
        spec = SandboxSpec(
            workspace=workspace or Path(empty),
            limits=Limits(wall_seconds=seconds, workspace_bytes=4096 * MIB, workspace_files=200_000),
            mounts=mounts,
        )
        running = sandbox.start(spec)
        output = {"stdout": b"", "stderr": b""}
        try:
            execution = running.exec(argv, env=env, timeout=seconds)
            for chunk in execution:
                output[chunk.stream] += chunk.data
            code = execution.result().exit_code
        finally:
            running.collect()
    return Said(code, *(output[stream].decode("utf-8", "replace") for stream in ("stdout", "stderr")))
