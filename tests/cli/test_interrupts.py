"""A signal ends a command whatever its main thread waits for, and whichever thread took it."""

import signal
import subprocess
import sys

import pytest

from tests.waiting import AT_ONCE

WAITING = """
import signal, sys, threading, time
from runbook.cli.interrupts import heed_interrupts

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests themselves may be run by nohup
heed_interrupts()

def other() -> None:
    time.sleep(0.3)  # until the main thread waits
    signal.pthread_kill(threading.get_ident(), signal.Signals(int(sys.argv[1])))
    time.sleep(600)

sleeper = threading.Thread(target=time.sleep, args=(600,), daemon=True)
sleeper.start()
try:
    threading.Thread(target=other, daemon=True).start()
    {wait}
except KeyboardInterrupt:
    print("heeded")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "wait",
    [
        "threading.Event().wait()",
        "sleeper.join()",
        "__import__('select').select([], [], [], 600)",
        "__import__('subprocess').run(['sleep', '600'])",
    ],
    ids=["event", "thread", "select", "child"],
)
def test_a_signal_that_another_thread_took_is_heeded(number: signal.Signals, wait: str) -> None:
    program = [sys.executable, "-c", WAITING.format(wait=wait), str(int(number))]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=AT_ONCE, check=False)
    assert (ended.stdout, ended.stderr) == ("heeded\n", "")


GOING_ON = """
import os, signal, sys, threading
from runbook.cli.interrupts import heed_interrupts

heed_interrupts()
os.kill(os.getpid(), signal.SIGHUP)
for other in signal.SIGINT, signal.SIGTERM:
    try:
        signal.raise_signal(other)
        threading.Event().wait()
    except KeyboardInterrupt:
        print("heeded")
"""


def test_what_nohup_started_outlives_its_terminal() -> None:
    program = ["nohup", sys.executable, "-c", GOING_ON]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=AT_ONCE, check=False)
    assert ended.stdout == "heeded\n" * 2, ended.stderr
