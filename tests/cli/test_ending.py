"""The process ends with its code, and what is to be tidied up is, whatever a package left behind."""

import subprocess
import sys

import pytest

from tests.waiting import FOREVER

PROGRAM = """
import atexit, sys, threading
from runbook.cli.ending import see_to_the_end

atexit.register(print, "tidied up")
{left}
see_to_the_end(3)
sys.exit(3)
"""


@pytest.mark.parametrize(
    "left",
    [
        "",
        "threading.Thread(target=threading.Event().wait).start()",
        "atexit.register(threading.Event().wait)",
        "from concurrent.futures import ThreadPoolExecutor as Pool; Pool().submit(threading.Event().wait)",
    ],
    ids=["nothing", "thread", "handler", "pool"],
)
def test_nothing_that_is_left_behind_holds_up_the_end(left: str) -> None:
    program = [sys.executable, "-c", PROGRAM.format(left=left)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=FOREVER, check=False)
    told = "" if "atexit" in left else "tidied up\n"  # of handlers, the last that is registered is the first
    assert (ended.returncode, ended.stdout) == (3, told), ended.stderr


def test_a_thread_that_ends_soon_is_waited_for() -> None:
    ending = "import time; threading.Thread(target=lambda: (time.sleep(0.5), print('saved'))).start()"
    program = [sys.executable, "-c", PROGRAM.format(left=ending)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=FOREVER, check=False)
    assert (ended.returncode, ended.stdout) == (3, "saved\ntidied up\n"), ended.stderr
