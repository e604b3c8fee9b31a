"""How fast a full-size haystack is imported and viewed, beside the floor of merely writing the same files.

    python tests/benchmarks/import_and_view.py --data DIR [--generator make_haystack.py] [--rounds 3]

DIR keeps the generated data root (0.95 GB) between runs; what is measured is written to a temporary folder on the same
disk and removed. Targets: import at most 1.6 x the floor and 300 MB resident (all processes together), the reader on the
full file 200 MB, a new view 1.5 s, a cached one 50 ms.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from manifests.importing import import_lme_v2  # noqa: E402
from manifests.lines import find_lines  # noqa: E402
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
    arguments = parser.parse_args()
    generate(arguments.data, arguments.generator)
    haystacks = list(json.loads((arguments.data / "haystacks" / "lme_v2_medium.json").read_text()).values())
    with tempfile.TemporaryDirectory(dir=arguments.data.parent, prefix="import-and-view-") as scratch:
        measure_import(arguments.data, haystacks[0], Path(scratch), arguments.rounds)
        measure_reader(arguments.data)
        measure_views(Path(scratch), haystacks[0])


def generate(data: Path, generator: Path) -> None:
    """Make the data root once; its manifest is written last."""
    if not (data / "manifest.json").is_file():
        subprocess.run([sys.executable, generator, "--out", data], check=True, stdout=subprocess.DEVNULL)


def measure_import(data: Path, chosen: list[str], scratch: Path, rounds: int) -> None:
    imports, floors = [], []
    store = scratch / "store"
    for _ in range(rounds):
        shutil.rmtree(store, ignore_errors=True)
        seconds, resident = timed(lambda: import_lme_v2(data, Store.open(store), only=chosen))
        imports.append(seconds)
        print(f"import of the medium haystack: {seconds:.2f} s, {resident / MB:.0f} MB resident in all")
        seconds = write_same_files(store, scratch / "floor")
        floors.append(seconds)
        print(f"  floor, two processes writing the same files: {seconds:.2f} s")
    report("import / floor", min(imports) / min(floors), "x", 1.6)


def measure_reader(data: Path) -> None:
    def read() -> None:
        path = data / "trajectories.jsonl"
        with path.open("rb") as file, path.open("rb") as lines:
            for line in find_lines(path, file):
                lines.seek(line.offset)
                read_record(lines.read(line.length), f"{path}:{line.number}")

    seconds, resident = timed(read)
    print(f"reading the full file in one process: {seconds:.2f} s")
    report("reader on the full file", resident / MB, "MB", 200)


def measure_views(scratch: Path, chosen: list[str]) -> None:
    store = Store.open(scratch / "store")
    slugs = [entry.slug for entry in store.entries()]
    assert len(slugs) == len(chosen)
    # Other sets of the same trajectories, as other questions have; a fresh Store each time, as a new process has.
    new, cached = [], []
    for seed in range(3):
        subset = random.Random(seed).sample(slugs, len(slugs) - 1 - seed)
        for times in (new, cached):
            views = Views(Store.open(store.root), scratch / "views")
            started = time.perf_counter()
            views.acquire(subset).close()
            times.append(time.perf_counter() - started)
    report("new view", min(new), "s", 1.5)
    report("cached view", min(cached) * 1000, "ms", 50)


def write_same_files(store: Path, target: Path) -> float:
    """The time two processes take to write files of the same names, sizes and links."""
    folders, files, links = layout(store)
    shutil.rmtree(target, ignore_errors=True)
    gate = multiprocessing.Barrier(3)
    halves = [
        multiprocessing.Process(target=write_half, args=(gate, target, folders[k::2], files, links, k))
        for k in (0, 1)
    ]
    for half in halves:
        half.start()
    gate.wait()
    started = time.perf_counter()
    gate.wait()
    seconds = time.perf_counter() - started
    for half in halves:
        half.join()
    shutil.rmtree(target)
    return seconds


Layout = tuple[list[str], dict[str, list[tuple[str, int]]], dict[str, list[tuple[str, str]]]]


def layout(store: Path) -> Layout:
    """Trajectory folders, their files with sizes, and their links with what they link to."""
    by_inode = {path.stat().st_ino: str(path) for path in (store / "images").iterdir()}
    folders = sorted(path.name for path in (store / "trajectories").iterdir())
    files: dict[str, list[tuple[str, int]]] = {}
    links: dict[str, list[tuple[str, str]]] = {}
    for folder in folders:
        files[folder], links[folder] = [], []
        for path in sorted((store / "trajectories" / folder).rglob("*")):
            found = path.stat()
            name = str(path.relative_to(store / "trajectories" / folder))
            if found.st_ino in by_inode:
                links[folder].append((name, by_inode[found.st_ino]))
            elif path.is_file():
                files[folder].append((name, found.st_size))
    return folders, files, links


def write_half(gate, target, folders, files, links, number) -> None:  # type: ignore[no-untyped-def]
    longest = max(size for folder in folders for _, size in files[folder])
    content = memoryview(os.urandom(2**20) * (longest // 2**20 + 1))
    gate.wait()
    for folder in folders:
        for name in ("", "states", "screenshots", "parts"):
            os.makedirs(f"{target}/{folder}/{name}", exist_ok=True)
        for name, size in files[folder]:
            fd = os.open(f"{target}/{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            os.write(fd, content[:size])
            os.close(fd)
        for name, source in links[folder]:
            os.link(source, f"{target}/{folder}/{name}")
    gate.wait()


def timed(work: Callable[[], object]) -> tuple[float, int]:
    """Run `work` in a fresh process; seconds, and the most bytes that it and its children had resident together."""
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
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    assert status == 0
    return seconds, peak[0]


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
