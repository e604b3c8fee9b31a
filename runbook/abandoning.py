"""Work that nobody waits for once a run is cancelled: reading an answer, building what can be rebuilt."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

LOOK_SECONDS = 0.1

T = TypeVar("T")


class AbandonedError(Exception):
    """The run was cancelled while the work went on; its result is thrown away."""


def abandonable(work: Callable[[], T], cancel: threading.Event) -> T:
    """What `work` returns or raises; it goes on in a thread of its own, which the process does not wait for.

    Raises AbandonedError soon after `cancel` is set.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    if cancel.is_set():
        raise AbandonedError
    threading.Thread(target=run, name="abandonable", daemon=True).start()
    while not wait([future], timeout=LOOK_SECONDS).done:
        if cancel.is_set():
            raise AbandonedError
    return future.result()
