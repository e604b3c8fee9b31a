"""Installed agent CLIs for tests: each is installed once and kept, because they are big."""

import os
from contextlib import ExitStack
from pathlib import Path

from runbook.agents.catalogue import Catalogue
from runbook.agents.installing import Installer
from runbook.cli.assembly import open_sandbox
from sandbox.protocol import Sandbox

# Read before any test has a home of its own: CI gives one for the whole session.
_HOME = os.environ.get("RUNBOOK_HOME")
REPOSITORY = Path(__file__).resolve().parent.parent


def tool_chains() -> Path:
    """Where tests install agents: in the session's RUNBOOK_HOME, else in pytest's cache."""
    return (Path(_HOME) if _HOME else REPOSITORY / ".pytest_cache") / "agents"


def install(name: str, sandbox: Sandbox) -> Path:
    """Install a built-in agent at its pinned version, unless it is there; the folder of its tool chain."""
    found = Catalogue().find(name)
    return Installer(tool_chains(), sandbox, print).install(found, found.adapter.install.version)


def sandbox_of(name: str, stack: ExitStack) -> Sandbox:
    """The back end of that name, with the helpers; released when `stack` ends."""
    return open_sandbox(name, None, allow_no_isolation=False, say=print, stack=stack)
