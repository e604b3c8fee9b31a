"""What a sandbox costs per question: start, a command, stop; beside the floor of starting an interpreter.

    python tests/benchmarks/sandbox_overhead.py [docker] [bubblewrap] [process] [--rounds N]

The floor is `python -I -c pass` on this host, measured in the same run. Times are medians in milliseconds.
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox.protocol import Limits, Mount, RunningSandbox, Sandbox, SandboxSpec

AT_ONCE = 8
OUTPUT_BYTES = 50_000_000


@contextlib.contextmanager
def open_docker() -> Iterator[Sandbox]:
    from sandbox.docker_engine import DockerSandbox, connect
    from sandbox.image import ensure_image
    from sandbox.reaper import Owner

    engine = connect()
    with Owner.open() as owner, DockerSandbox(engine, ensure_image(engine, {}, None), owner) as sandbox:
        yield sandbox
    engine.close()


@contextlib.contextmanager
def open_bubblewrap() -> Iterator[Sandbox]:
    from sandbox.bubblewrap import BubblewrapSandbox

    yield BubblewrapSandbox()


@contextlib.contextmanager
def open_process() -> Iterator[Sandbox]:
    from sandbox.process import ProcessSandbox

    yield ProcessSandbox()


OPENERS = {"docker": open_docker, "bubblewrap": open_bubblewrap, "process": open_process}


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def start(backend: Sandbox, folder: Path) -> RunningSandbox:
    workspace, haystack = folder / "workspace", folder / "view"
    workspace.mkdir(exist_ok=True)
    haystack.mkdir(exist_ok=True)
    return backend.start(SandboxSpec(workspace, Limits(wall_seconds=120), (Mount(haystack, "haystack"),)))


def run(sandbox: RunningSandbox, *argv: str) -> None:
    if sandbox.exec(argv).result().exit_code != 0:
        raise SystemExit(f"{argv} failed")


def one_round(backend: Sandbox, folder: Path) -> dict[str, float]:
    """Seconds of each step in the life of one sandbox."""
    began = time.perf_counter()
    sandbox = start(backend, folder)
    started = time.perf_counter()
    try:
        figures = {
            "start": started - began,
            "command (true)": seconds(lambda: run(sandbox, "true")),
            "command (python -I -c pass)": seconds(lambda: run(sandbox, backend.python, "-I", "-c", "pass")),
        }
    finally:
        ended = time.perf_counter()
        sandbox.collect()
    figures["stop and collect"] = time.perf_counter() - ended
    figures["in all"] = time.perf_counter() - began
    return figures


def measure(backend: Sandbox, folder: Path, rounds: int, floor: float) -> None:
    measured = [one_round(backend, folder) for _ in range(rounds)]
    print(f"\n{backend.name}")
    for step in measured[0]:
        median = statistics.median(figures[step] for figures in measured)
        print(f"  {step:<44}{median * 1000:8.0f} ms {median / floor:8.1f} x floor")

    places = [folder / f"{number}" for number in range(AT_ONCE)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        together = seconds(lambda: list(pool.map(lambda place: one_round(backend, place), places)))
    each = together / AT_ONCE
    print(f"  {f'each of {AT_ONCE} at once':<44}{each * 1000:8.0f} ms {each / floor:8.1f} x floor")

    sandbox = start(backend, folder)
    flow = seconds(lambda: run(sandbox, "head", "-c", str(OUTPUT_BYTES), "/dev/zero"))
    sandbox.collect()
    print(f"  {'50 MB of output':<44}{flow * 1000:8.0f} ms {OUTPUT_BYTES / flow / 1e6:8.0f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description="What a sandbox costs per question.")
    parser.add_argument("backends", nargs="*", metavar="BACKEND", help=", ".join(OPENERS))
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    interpreter = [sys.executable, "-I", "-c", "pass"]
    floor = statistics.median(
        seconds(lambda: subprocess.run(interpreter, check=True)) for _ in range(options.rounds)
    )
    print(f"floor: an interpreter starts in {floor * 1000:.0f} ms")
    for name in options.backends or OPENERS:
        with OPENERS[name]() as backend, tempfile.TemporaryDirectory() as folder:
            measure(backend, Path(folder), options.rounds, floor)


if __name__ == "__main__":
    main()
