"""Where this program keeps what is not named on the command line."""

import errno
import os
from pathlib import Path

from runbook.cli.failures import Mistake
from runbook.complaints import of_system

VARIABLE = "RUNBOOK_HOME"


def fix_places() -> None:
    """Let the variables that name folders go on naming these when a package changes the current folder."""
    for name in (VARIABLE, "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        if (chosen := os.environ.get(name)) and not chosen.startswith("~"):
            os.environ[name] = str(Path(chosen).absolute())


def home() -> Path:
    """RUNBOOK_HOME, else `runbook` in the user's cache folder; it is there and can be written.

    Raises:
        Mistake: it cannot be, which names the variable that chooses another place.
    """
    folder = _chosen()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Mistake(f"{of_system(error)}; {_elsewhere()}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Mistake(f"{folder} cannot be written; {_elsewhere()}")
    return folder


def workspace_registry() -> Path:
    """Where places of workspaces are registered."""
    return home() / "workspaces"


def retrieval_cache() -> Path:
    """Where memories that search keep what they prepared."""
    return home() / "retrieval"


def tool_chains() -> Path:
    """Where agents are installed."""
    return home() / "agents"


def existing_store(chosen: Path | None) -> Path:
    """The store to use, which must be there. Raises Mistake."""
    folder = store_folder(chosen)
    if not folder.is_dir():
        raise Mistake(f"there is no store at {folder}: import recordings first (`runbook import --help`)")
    return folder


def store_folder(chosen: Path | None) -> Path:
    """The store to use: the one named, else the one in `home()`. Raises Mistake."""
    try:
        return (chosen or home() / "store").expanduser().resolve()
    except RuntimeError as error:
        raise Mistake(f"--store {chosen}: {error}") from None


def _chosen() -> Path:
    try:
        if chosen := os.environ.get(VARIABLE):
            return Path(chosen).expanduser().resolve()
        cache = os.environ.get("XDG_CACHE_HOME")
        return (Path(cache) if cache else Path.home() / ".cache") / "runbook"
    except (RuntimeError, OSError) as error:  # nobody of that name; no home; links in a circle
        raise Mistake(f"where to keep things cannot be told: {error}; {_elsewhere()}") from None


def _elsewhere() -> str:
    return f"set {VARIABLE} to a folder on a disk with room that you can write"
