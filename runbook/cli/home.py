"""Where this program keeps what is not named on the command line."""

import os
from pathlib import Path

from runbook.cli.failures import Mistake


def home() -> Path:
    """RUNBOOK_HOME, else `runbook` in the user's cache folder."""
    if chosen := os.environ.get("RUNBOOK_HOME"):
        return Path(chosen).expanduser().resolve()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "runbook"


def workspace_registry() -> Path:
    """Where places of workspaces are registered."""
    return home() / "workspaces"


def existing_store(chosen: Path | None) -> Path:
    """The store to use, which must be there. Raises Mistake."""
    folder = store_folder(chosen)
    if not folder.is_dir():
        raise Mistake(f"there is no store at {folder}: import recordings first (`runbook import --help`)")
    return folder


def store_folder(chosen: Path | None) -> Path:
    """The store to use: the one named, else the one in `home()`."""
    return (chosen or home() / "store").expanduser().resolve()
