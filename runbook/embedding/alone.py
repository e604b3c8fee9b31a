"""One at a time, among all threads and processes: what costs money is not done twice."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runbook.endpoint.errors import EndpointError
from runbook.outcomes import Outcome

_LOCK = "working"
_LOOK_SECONDS = 0.1


@contextmanager
def alone(folder: Path, cancel: threading.Event) -> Iterator[None]:
    """Be the only one that works in a folder, which is made where it is missing.

    The kernel takes the right back from a process that dies.

    Raises:
        EndpointError: `cancelled`, while others were waited for.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _locked(descriptor):
            if cancel.wait(_LOOK_SECONDS):
                raise EndpointError("cancelled", outcome=Outcome.CANCELLED)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
