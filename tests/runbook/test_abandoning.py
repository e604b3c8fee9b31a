"""Work that is left behind when a run is cancelled."""

import threading
import time

import pytest

from runbook.abandoning import AbandonedError, abandonable
from tests.waiting import AT_ONCE, FOREVER


def test_the_result_and_the_error_of_the_work_are_the_callers():
    cancel = threading.Event()
    assert abandonable(lambda: 3, cancel) == 3
    with pytest.raises(ZeroDivisionError):
        abandonable(lambda: 1 / 0, cancel)


def test_a_cancelled_run_waits_for_no_answer():
    cancel, answered = threading.Event(), threading.Event()

    def work() -> None:
        cancel.set()
        answered.wait(FOREVER)

    begun = time.monotonic()
    with pytest.raises(AbandonedError):
        abandonable(work, cancel)
    assert time.monotonic() - begun < AT_ONCE
    answered.set()


def test_after_the_end_nothing_is_begun():
    cancel, begun = threading.Event(), list[int]()
    cancel.set()
    with pytest.raises(AbandonedError):
        abandonable(lambda: begun.append(1), cancel)
    assert begun == []
