"""What a back end with an init of ours must offer: where init runs, and how everything there dies."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from sandbox.accounts import Account
from sandbox.protocol import Collected

INIT = Path(__file__).with_name("init.py")


class Cage(Protocol):
    """Where the init of one sandbox runs."""

    @property
    def workdir(self) -> str:
        """The workspace as seen by commands."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """What every command finds in its environment unless told otherwise."""
        ...

    @property
    def account(self) -> Account:
        """The user that commands are, as seen from the host."""
        ...

    def pids(self) -> list[int]:
        """The processes inside, by their pids on the host."""
        ...

    def launch(self, control: int, seconds: float) -> subprocess.Popen[bytes]:
        """Start init with the control socket `control`; stderr must be a pipe.

        Called from a thread that lives as long as the sandbox, so it may die with its parent thread.

        Raises:
            SandboxError, OSError: it cannot be started.
        """
        ...

    def destroy(self, process: subprocess.Popen[bytes]) -> None:
        """Kill init and everything it started, and wait until they are gone (bounded)."""
        ...

    def report(self) -> Collected:
        """Release what is left, after everything is dead; what the back end knows."""
        ...
