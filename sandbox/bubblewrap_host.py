"""What this machine has for bubblewrap: the program, a Python for the inside, control groups, who we are."""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sandbox.accounts import ORDINARY, Account
from sandbox.cgroup import Groups
from sandbox.protocol import SandboxError

OLDEST_PYTHON = (3, 8)
# Before, a limit of processes counted all of a user's on the machine.
LINUX_COUNTING_BY_NAMESPACE = (5, 14)
PROBE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the inside and the folder of this host that it needs there, if any."""

    path: str
    prefix: Path | None


@dataclass(frozen=True, slots=True)
class Host:
    """What sandboxes are made of here."""

    program: str
    options: frozenset[str]
    """The options that this bwrap knows."""
    interpreter: Interpreter
    groups: Groups | None
    lends: bool
    """Whether commands are another user than we, because we are root."""

    @classmethod
    def find(cls) -> "Host":
        """Look around.

        Raises:
            SandboxError: something that is needed is missing, with the mend.
        """
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxError("bwrap is not installed", mend="install the package bubblewrap")
        options, lends = _options_of(program), _is_root()
        if lends and "--perms" not in options:
            raise SandboxError("bwrap is too old to be used by root", mend="install bubblewrap 0.5 or newer")
        return cls(program, options, _find_interpreter(), Groups.find(), lends)

    @property
    def account(self) -> Account:
        """The user that commands are, as seen from the host."""
        return Account(ORDINARY, ORDINARY) if self.lends else Account(os.geteuid(), os.getegid())

    @property
    def limits_processes(self) -> bool:
        """Whether the ordinary limit of processes counts those of one sandbox alone."""
        release = re.match(r"(\d+)\.(\d+)", platform.release())
        recent = release is not None and (int(release[1]), int(release[2])) >= LINUX_COUNTING_BY_NAMESPACE
        return recent and not self.lends


def _options_of(program: str) -> frozenset[str]:
    helped = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return frozenset(word for word in (helped.stdout + helped.stderr).split() if word.startswith("--"))


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
    asked = [python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(map(int, told.stdout.split()))
