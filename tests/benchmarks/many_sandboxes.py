"""Many sandboxes at once: python tests/benchmarks/many_sandboxes.py [BACKEND] [N].

Prints the overhead of one sandbox beside the floor (starting the same interpreter), and, for N at once, how
long starts take and how far beyond the deadline the last process lived.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox
from sandbox.protocol import Ending, Limits, Mount, Sandbox, SandboxSpec

BACKENDS = {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}
WALL_SECONDS = 15.0
MARKER = "7654.321"


def one(backend: Sandbox, spec: SandboxSpec) -> float:
    began = time.perf_counter()
    running = backend.start(spec)
    running.exec([backend.python, "-I", "-c", "pass"]).result()
    running.collect()
    return time.perf_counter() - began


def floor(python: str) -> float:
    began = time.perf_counter()
    subprocess.run([python, "-I", "-c", "pass"], check=True)
    return time.perf_counter() - began


def until_deadline(backend: Sandbox, spec: SandboxSpec) -> tuple[float, float]:
    """(seconds to start, seconds beyond the deadline)"""
    began = time.perf_counter()
    running = backend.start(spec)
    started = time.perf_counter() - began
    result = running.exec(["sh", "-c", f"setsid sleep {MARKER} & sleep {MARKER}"]).result()
    over = time.perf_counter() - began - WALL_SECONDS
    assert result.ending is Ending.DEADLINE, result
    running.collect()
    return started, over


def main(name: str = "bubblewrap", count: str = "64") -> None:
    backend: Sandbox = BACKENDS[name]()
    with tempfile.TemporaryDirectory() as folder:
        view = Path(folder, "view")
        view.mkdir()
        specs = []
        for number in range(int(count)):
            workspace = Path(folder, str(number))
            workspace.mkdir()
            specs.append(SandboxSpec(workspace, Limits(WALL_SECONDS), mounts=(Mount(view, "haystack"),)))
        least = statistics.median(floor(backend.python) for _ in range(20))
        each = statistics.median(one(backend, specs[0]) for _ in range(20))
        print(f"interpreter {least * 1000:.0f} ms, sandbox {each * 1000:.0f} ms, ratio {each / least:.1f}")
        with ThreadPoolExecutor(int(count)) as pool:
            told = list(pool.map(lambda spec: until_deadline(backend, spec), specs))
        starts, overs = zip(*told, strict=True)
        print(f"{count} at once: slowest start {max(starts):.1f} s, latest end {max(overs):.2f} s late")
        left = subprocess.run(
            ["pgrep", "-fc", f"sleep {MARKER}"], capture_output=True, text=True, check=False
        )
        print(f"processes left: {left.stdout.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
