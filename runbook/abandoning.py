"""Work that nobody waits for once a run is cancelled: reading an answer, building what can be rebuilt."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import TypeVar

LOOK_SECONDS = 0.1
LEAVE_SECONDS = 2.0
"""Within which work has to stop that was told to."""

T = TypeVar("T")


class AbandonedError(Exception):
    """The run was cancelled while the work went on; its result is thrown away."""


class OverdueError(Exception):
    """The work did not end in the time it had; its result is thrown away."""


def abandonable(work: Callable[[], T], cancel: threading.Event) -> T:
    """What `work` returns or raises; it goes on in a thread of its own, which the process does not wait for.

    Raises AbandonedError soon after `cancel` is set.
    """
    if cancel.is_set():
        raise AbandonedError
    future = _begun(work)
    while not wait([future], timeout=LOOK_SECONDS).done:
        if cancel.is_set():
            raise AbandonedError
    return future.result()


def stoppable(work: Callable[[threading.Event], T], cancel: threading.Event, seconds: float = math.inf) -> T:
    """As `abandonable`, for work that can stop: it is told by the event that it is given.

    Where it stops in time after `cancel` was set, what it returns or raises counts.

    Raises:
        OverdueError: it did not end within `seconds`.
        AbandonedError: `cancel` was set, and it did not stop within LEAVE_SECONDS.
    """
    if cancel.is_set():
        raise AbandonedError
    stop = threading.Event()
    end = time.monotonic() + seconds
    future = _begun(partial(work, stop))
    while not wait([future], timeout=max(0.0, min(LOOK_SECONDS, end - time.monotonic()))).done:
        overdue = time.monotonic() >= end
        if not overdue and not cancel.is_set():
            continue
        stop.set()
        stopped = wait([future], timeout=LEAVE_SECONDS).done
        if overdue:
            raise OverdueError
        if not stopped:
            raise AbandonedError
    return future.result()


def _begun(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="abandonable", daemon=True).start()
    return future
