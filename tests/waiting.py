"""Waiting for what other processes and threads do, on machines of any speed.

A test that something happens soon gives the alternative ten minutes (`FOREVER`) and asks for `AT_ONCE`: how
fast things really are is told by `tests/benchmarks`, not by tests.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOREVER = 600
"""Seconds that a command sleeps which a test expects to be ended."""

AT_ONCE = 60.0
"""Seconds within which something has happened that waits for nothing; far from `FOREVER`, and more than a
loaded machine needs."""


def wait_for(ready: Callable[[], object], seconds: float = 90.0) -> None:
    """Return once `ready` holds.

    It may look into folders that others change: what is gone by the time it looks is not there yet.
    """
    end = time.monotonic() + seconds
    while True:
        with suppress(FileNotFoundError):
            if ready():
                return
        assert time.monotonic() < end, f"it did not happen within {seconds:g} s"
        time.sleep(0.02)


@contextmanager
def churn(folder: Path, prefix: str = "") -> Iterator[None]:
    """Files come and go in a folder until the block ends."""
    ended = threading.Event()
    files = [folder / f"{prefix}{number}" for number in range(20)]

    def run() -> None:
        while not ended.is_set():
            for file in files:
                file.touch()
            for file in files:
                file.unlink()

    churning = threading.Thread(target=run)
    churning.start()
    try:
        yield
    finally:
        ended.set()
        churning.join()
