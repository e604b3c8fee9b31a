"""The command line as a user has it: a real process."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.waiting import FOREVER

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
Runbook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def runbook(tmp_path: Path) -> Runbook:
    """Runs `runbook ARGUMENTS` in `tmp_path` and returns the finished process."""

    def run(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=FOREVER,
            check=False,
        )

    return run
