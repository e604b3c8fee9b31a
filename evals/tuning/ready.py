"""The settings of each operating point as a file for `runbook eval run`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import tomli_w

from evals.runs.config import RunConfig
from runbook.files import write_atomically

_UNWANTED = {"question_ids", "limit", "sample"}


def write_config(config: RunConfig, path: Path, said: Sequence[str], tuned: Iterable[str] = ()) -> Path:
    """Write all settings that differ from the usual ones, below the lines `said` as comments.

    Args:
        tuned: keys, perhaps dotted, whose tables are written whole, also where they are as usual.

    Raises OSError.
    """
    whole = {key.partition(".")[0] for key in tuned}
    settings = {
        **config.model_dump(mode="json", exclude_defaults=True, exclude_none=True, exclude=_UNWANTED),
        **config.model_dump(mode="json", exclude_none=True, include=whole),
    }
    comments = "".join(f"# {' '.join(line.split())}\n" for line in said)
    write_atomically(path, (comments + tomli_w.dumps(settings)).encode())
    return path
