"""A process that builds for a run: `runbook.cli.haystack_builder` at the other end of two pipes."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson


class Builder:
    """One such process. It does not get Ctrl-C, and ends with us, however we end."""

    def __init__(self, store: Path, cap_bytes: int | None = None) -> None:
        """`cap_bytes` is what views may take on disk; only for a builder of views."""
        cap = [] if cap_bytes is None else [str(cap_bytes)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runbook.cli.haystack_builder", str(store), *cap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def is_ready(self) -> bool:
        """Wait until it has started; False where it ended instead."""
        assert self.process.stdout is not None
        return bool(self.process.stdout.readline())

    def do(self, job: Mapping[str, object]) -> bool:
        """Have a job done, well or not; False where the process has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(orjson.dumps(job) + b"\n")
            self.process.stdin.flush()
            return bool(self.process.stdout.readline())
        except (OSError, ValueError):  # it was killed, by us or by somebody; the run can do without it
            return False

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
