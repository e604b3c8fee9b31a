"""Where this program keeps what is not named on the command line."""

import os
from pathlib import Path


def home() -> Path:
    """RUNBOOK_HOME, else `runbook` in the user's cache folder."""
    if chosen := os.environ.get("RUNBOOK_HOME"):
        return Path(chosen).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "runbook"


def workspace_registry() -> Path:
    """Where places of workspaces are registered."""
    return home() / "workspaces"


def store_folder(chosen: Path | None) -> Path:
    """The store to use: the one named, else the one in `home()`."""
    return (chosen or home() / "store").expanduser().resolve()
