"""How fast a full-size haystack is imported and viewed, beside the floor of merely writing the same files.

    python tests/benchmarks/import_and_view.py --data DIR [--generator make_haystack.py] [--rounds 3]
                                               [--scratch FOLDER]

DIR keeps the generated data root (0.95 GB) between runs; what is measured is written to a temporary folder
in FOLDER (beside DIR by default; 3 GB a round) and removed at the end. With FOLDER in memory (/dev/shm) no
disk disturbs the processor times. The floor is two processes that hold the contents in memory and write the
same files, folders and links with the same times and modes; they are started before the clock. A second
floor also has to get the contents: it reads and parses the haystack's lines first, within the clock.
Wall time says what a user waits for, processor time what the code costs where other work shares the machine.
Targets: import at most 1.6 x the floor and 300 MB resident (all its processes together), the reader on the
full file 200 MB, a new view 1.5 s, a cached 50 ms.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

import orjson  # noqa: E402

from manifests.files import FIXED_TIMES  # noqa: E402
from manifests.importing import import_lme_v2  # noqa: E402
from manifests.lines import Piece, pieces  # noqa: E402
from manifests.records import read_record  # noqa: E402
from manifests.store import Store  # noqa: E402
from manifests.views import Views  # noqa: E402

GENERATOR = REPOSITORY.parent / "shared" / "tools" / "make_haystack.py"
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--generator", type=Path, default=GENERATOR)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", type=Path)
    arguments = parser.parse_args()
    generate(arguments.data, arguments.generator)
    haystacks = list(json.loads((arguments.data / "haystacks" / "lme_v2_medium.json").read_text()).values())
    with tempfile.TemporaryDirectory(
        dir=arguments.scratch or arguments.data.parent, prefix="import-and-view-"
    ) as scratch:
        measure_import(arguments.data, haystacks[0], Path(scratch), arguments.rounds)
        measure_reader(arguments.data)
        measure_views(Path(scratch), haystacks[0])


def generate(data: Path, generator: Path) -> None:
    """Make the data root once; its manifest is written last."""
    if not (data / "manifest.json").is_file():
        subprocess.run([sys.executable, generator, "--out", data], check=True, stdout=subprocess.DEVNULL)


def measure_import(data: Path, chosen: list[str], scratch: Path, rounds: int) -> None:
    # Nothing is removed before the end: ext4 looks long for inodes where many were freed in the last seconds.
    reference = scratch / "store"
    first = timed(partial(run_import, data, reference, chosen))
    print(f"import of the medium haystack, before the rounds: {first}")
    lines = lines_of(data, chosen)
    work: dict[str, Callable[[Path], Cost]] = {
        "import": lambda target: timed(partial(run_import, data, target, chosen)),
        "floor, two processes writing the same files": lambda target: floor(reference, target, data, []),
        "floor that also reads and parses": lambda target: floor(reference, target, data, lines),
    }
    costs: dict[str, list[Cost]] = {what: [] for what in work}
    for number in range(rounds):
        # Each comes first as often as last, so that what a round leaves behind is in nobody's favour.
        for what in list(work)[:: 1 if number % 2 else -1]:
            os.sync()  # who writes while the disk is behind waits for it
            costs[what].append(work[what](scratch / f"{number}-{list(work).index(what)}"))
            print(f"round {number + 1}, {what}: {costs[what][-1]}", flush=True)
    imported, written, parsed = costs.values()
    report("resident while importing", max(cost.resident for cost in imported) / MB, "MB", 300)
    for measure in ("wall", "processor"):
        report(f"import / floor, {measure}, best", ratio(min, measure, imported, written), "x", 1.6)
        report(f"import / floor, {measure}, median", ratio(median, measure, imported, written), "x", 1.6)
        above = ratio(min, measure, imported, parsed)
        print(f"import / floor that also reads and parses, {measure}, best: {above:.2f} x")


def ratio(
    of: Callable[[list[float]], float], measure: str, these: "list[Cost]", those: "list[Cost]"
) -> float:
    """How many times more these cost than those, by the best or the median of each."""
    above, below = ([getattr(cost, measure) for cost in costs] for costs in (these, those))
    return of(above) / of(below)


def run_import(data: Path, store: Path, chosen: list[str]) -> None:
    import_lme_v2(data, Store.open(store), only=chosen)


def measure_reader(data: Path) -> None:
    def read() -> None:
        path = data / "trajectories.jsonl"
        with path.open("rb") as file:
            for start, end in pieces(path.stat().st_size):
                for line, content in Piece(file.fileno(), start, end):
                    read_record(content, f"{path}:{line.offset}")

    cost = timed(read)
    print(f"reading the full file in one process: {cost}")
    report("reader on the full file", cost.resident / MB, "MB", 200)


def measure_views(scratch: Path, chosen: list[str]) -> None:
    store = Store.open(scratch / "store")
    slugs = [entry.slug for entry in store.entries()]
    assert len(slugs) == len(chosen)
    # Other sets of the same trajectories, as other questions have; a fresh Store as a new process has.
    new: list[float] = []
    cached: list[float] = []
    for seed in range(3):
        subset = random.Random(seed).sample(slugs, len(slugs) - 1 - seed)
        for times in (new, cached):
            views = Views(Store.open(store.root), scratch / "views")
            started = time.perf_counter()
            views.acquire(subset).close()
            times.append(time.perf_counter() - started)
    report("new view", min(new), "s", 1.5)
    report("cached view", min(cached) * 1000, "ms", 50)


def lines_of(data: Path, chosen: list[str]) -> list[tuple[int, int]]:
    """Where the lines of the chosen trajectories are: offsets and lengths."""
    found, wanted = [], set(chosen)
    path = data / "trajectories.jsonl"
    with path.open("rb") as file:
        for start, end in pieces(path.stat().st_size):
            for line, content in Piece(file.fileno(), start, end):
                if orjson.loads(content)["id"] in wanted:
                    found.append((line.offset, line.length))
    assert len(found) == len(chosen)
    return found


def floor(store: Path, target: Path, data: Path, lines: list[tuple[int, int]]) -> "Cost":
    """What it costs two processes to write files of the same names and contents.

    Each also reads and parses its half of the `lines` of the data root.
    """
    target.mkdir()
    folders = sorted(path.name for path in (store / "trajectories").iterdir())
    gate = multiprocessing.Barrier(3)
    results: multiprocessing.SimpleQueue[float] = multiprocessing.SimpleQueue()
    halves = [
        multiprocessing.Process(
            target=write_half, args=(gate, results, store, target, folders[k::2], data, lines[k::2])
        )
        for k in (0, 1)
    ]
    for half in halves:
        half.start()
    gate.wait()
    started = time.perf_counter()
    gate.wait()
    wall = time.perf_counter() - started
    processor = results.get() + results.get()
    for half in halves:
        half.join()
    return Cost(wall, processor, 0)


def write_half(gate: Barrier, results: "multiprocessing.SimpleQueue[float]", *work: Any) -> None:
    store, target, folders, data, lines = work
    images = {path.stat().st_ino: path for path in (store / "images").iterdir()}
    below: list[Path] = []
    texts: dict[Path, bytes] = {}
    links: dict[Path, Path] = {}
    for folder in folders:
        below.append(target / folder)
        for path in sorted((store / "trajectories" / folder).rglob("*")):
            written = target / path.relative_to(store / "trajectories")
            if path.is_dir():
                below.append(written)
            elif path.stat().st_ino in images:
                links[written] = images[path.stat().st_ino]
            else:
                texts[written] = path.read_bytes()
    gate.wait()
    before = os.times()
    with (data / "trajectories.jsonl").open("rb") as file:
        for offset, length in lines:
            orjson.loads(os.pread(file.fileno(), length, offset))
    for folder in below:
        folder.mkdir()
    for path, text in texts.items():
        path.write_bytes(text)
        os.utime(path, ns=FIXED_TIMES)
    for path, image in links.items():
        path.hardlink_to(image)
    for folder in reversed(below):
        os.utime(folder, ns=FIXED_TIMES)
    after = os.times()
    gate.wait()
    results.put(after.user + after.system - before.user - before.system)


@dataclass(frozen=True)
class Cost:
    """Seconds of wall and processor time, and the most bytes resident at once in all processes together."""

    wall: float
    processor: float
    resident: int

    def __str__(self) -> str:
        memory = f", {self.resident / MB:.0f} MB resident" if self.resident else ""
        return f"{self.wall:.2f} s, {self.processor:.2f} s of processor{memory}"


def timed(work: Callable[[], object]) -> Cost:
    """Run `work` in a fresh process and measure it with its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    done = threading.Event()
    peak = [0]

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], tree_resident(pid))

    watcher = threading.Thread(target=watch)
    started = time.perf_counter()
    watcher.start()
    _, status = os.waitpid(pid, 0)
    wall = time.perf_counter() - started
    done.set()
    watcher.join()
    if status:
        sys.exit("what was measured failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak[0])


def tree_resident(pid: int) -> int:
    """Resident bytes of a process and its children; shared pages are counted in each."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") + sum(tree_resident(int(child)) for child in children)


def report(what: str, value: float, unit: str, target: float) -> None:
    verdict = "ok" if value <= target else "MISSED"
    print(f"{what}: {value:.2f} {unit} (target {target} {unit}) {verdict}")


if __name__ == "__main__":
    main()
