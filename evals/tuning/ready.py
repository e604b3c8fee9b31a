"""The settings of each operating point as a file for `runbook eval run`."""

from collections.abc import Sequence
from pathlib import Path

import tomli_w

from evals.runs.config import RunConfig
from runbook.files import write_atomically

_UNWANTED = {"question_ids", "limit", "sample"}


def write_config(config: RunConfig, path: Path, said: Sequence[str]) -> Path:
    """Write all settings that differ from the usual ones, below the lines `said` as comments.

    Raises OSError.
    """
    settings = config.model_dump(
        mode="json", exclude_defaults=True, exclude_none=True, exclude={*_UNWANTED, "tuned_on"}
    )
    # Agents are named by file or by name; everything else that is a path was resolved when it was read.
    if config.tuned_on is not None:
        settings["tuned_on"] = config.tuned_on.model_dump(mode="json")
    comments = "".join(f"# {' '.join(line.split())}\n" for line in said)
    write_atomically(path, (comments + tomli_w.dumps(settings)).encode())
    return path
