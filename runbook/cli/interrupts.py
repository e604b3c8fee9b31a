"""Ctrl-C and what ends a program, heeded whatever the main thread waits for."""

import os
import signal
import threading
import time
from types import FrameType
from typing import Final

_NUDGE: Final = signal.SIGURG  # ignored by default, and nobody here uses it
_NUDGES: Final = 50
_NUDGE_SECONDS: Final = 0.1


def heed_interrupts() -> None:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does, so that containers and locks are released; lose none.

    Python runs a handler in the main thread once that comes back from the call it is in. A signal that
    another thread took, or that came between the last look for signals and a wait for a lock, interrupts no
    call: the main thread would go on waiting. So another thread, told of every signal by the interpreter's
    own handler, interrupts the call for a while.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup wants it to go on
            signal.signal(number, _interrupt)
    signal.signal(_NUDGE, _heed_nothing)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    main = threading.main_thread().ident
    assert main is not None
    threading.Thread(target=_nudge, args=(reading, main), name="interrupts", daemon=True).start()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _heed_nothing(_signal: int, _frame: FrameType | None) -> None:
    """Only interrupts the call that the main thread is in."""


def _nudge(reading: int, main: int) -> None:
    while told := os.read(reading, 1024):
        # A byte for each signal: its number.
        if set(told) == {_NUDGE}:
            continue
        for _ in range(_NUDGES):
            signal.pthread_kill(main, _NUDGE)
            time.sleep(_NUDGE_SECONDS)
