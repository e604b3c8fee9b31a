"""How long a run takes to end after Ctrl-C, whatever it is at: 2 s at most.

    python -m tests.benchmarks.interrupted [--rounds 3]

Sixteen questions at a time over haystacks of their own, interrupted while haystacks are built ahead, while
models are waited for (a server that never answers), and while agents run. The floor is a Python process that
sleeps, and ends by the same signal.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.data_roots import write_haystacks_apart
from tests.waiting import FOREVER, wait_for

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
SLEEPER = (sys.executable, "-I", "-c", f"import time; time.sleep({FOREVER})")
STARTING_SECONDS = 1.0
TARGET_SECONDS = 2.0


@dataclass(frozen=True)
class Case:
    """What a run is at when it is interrupted."""

    name: str
    options: tuple[str, ...]
    underway: str
    """What is there, in the folder of the run and its store, once it is at it."""
    wanted: int = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = range(parser.parse_args().rounds)
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    with tempfile.TemporaryDirectory(prefix="interrupted-") as name, socket.create_server(("", 0)) as silent:
        scratch = Path(name)
        data = write_haystacks_apart(scratch / "data")
        floor = statistics.median(seconds_to_end(scratch, SLEEPER, has_had_time) for _ in rounds)
        print(f"{'a process that sleeps':<28}{1000 * floor:5.0f} ms")
        for case in cases(f"http://127.0.0.1:{silent.getsockname()[1]}/v1"):
            took = [of_run(case, data, scratch / f"{case.name}-{number}") for number in rounds]
            print(
                f"{case.name:<28}{statistics.median(took):5.2f} s, at most {max(took):.2f} s "
                f"(target {TARGET_SECONDS:g} s) {'ok' if max(took) <= TARGET_SECONDS else 'MISSED'}; "
                f"{statistics.median(took) / floor:.0f} x floor",
                flush=True,
            )


def cases(silent: str) -> tuple[Case, ...]:
    """All of them; `silent` is the address of a server that never answers."""
    model = (f"retrieval.embedding.base_url={silent}", "--set", "retrieval.embedding.model=bag")
    agent = ("--agent", "command", "--agent-command", f"sleep {FOREVER}")
    return (
        Case("haystacks are built ahead", ("--memory", "rag-slice-bm25"), "store/views/incoming/*/*"),
        Case("models are waited for", ("--memory", "rag-slice", "--set", *model), "store/views/*/.index", 2),
        Case(
            "sixteen agents run",
            (*agent, "--sandbox", "process", "--allow-no-isolation"),
            "run/questions/*/attempts/1/stdout",
            16,
        ),
    )


def of_run(case: Case, data: Path, folder: Path) -> float:
    """Seconds that a run takes to end while it is at what the case says."""
    folder.mkdir()
    command = (*PROGRAM, "eval", "run", "--data", str(data), "--out", "run", "--store", "store")
    sixteen = ("--concurrency", "16", "--set", "gates=[]")
    return seconds_to_end(
        folder,
        (*command, *sixteen, *case.options),
        lambda: len(list(folder.glob(case.underway))) >= case.wanted,
    )


def has_had_time() -> bool:
    """Whether an interpreter has started, after a while."""
    time.sleep(STARTING_SECONDS)
    return True


def seconds_to_end(folder: Path, command: tuple[str, ...], underway: Callable[[], object]) -> float:
    """From Ctrl-C, sent once `underway` holds, to the end of the command."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(underway)
        assert process.poll() is None, "it ended by itself"
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        process.wait(FOREVER)
        return time.monotonic() - begun
    finally:
        process.kill()


if __name__ == "__main__":
    main()
