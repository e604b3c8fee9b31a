"""A run over many distinct haystacks of 498 trajectories each, as LongMemEval-V2 has them.

    python -m tests.benchmarks.full_size --data DIR [--questions 451] [--memory rag-slice-bm25]
                                         [--concurrency 2] [--kill] [--scratch FOLDER]

DIR keeps the generated data root (0.95 GB) between runs. Two passes, each a process of its own: in the first
every view and index is made; the second asks the 24 questions that were answered last again, whose views are
still there.
Printed are the import and the search terms, the wait for view and index, the query, what the harness costs
beside them, disk at its peak, resident memory, and how wrong the progress line was. Beside them the floor of
a view: the same links and folders made by nothing but a loop. `--kill` kills the first pass halfway and
resumes it.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import Views
from runbook.cli.index_preparing import prepare_parts

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATOR = REPOSITORY.parent / "shared" / "tools" / "make_haystack.py"
PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
LEFT = re.compile(r"(\d+)/\d+ questions?, .*about (\d+) s left")
AGAIN = 24
MB = 1e6


@dataclass
class Watched:
    """What was seen of a process and its folders while it ran."""

    seconds: float = 0.0
    resident: float = 0.0
    """Peak of the process itself, bytes."""
    together: float = 0.0
    """Peak of it and its children, bytes; pages that they share count several times."""
    views: float = 0.0
    """Peak of views and indexes on disk, bytes; links to the store not counted."""
    told: list[tuple[float, float]] = field(default_factory=list)
    """When a progress line came, and how many seconds it said were left."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=451)
    parser.add_argument("--memory", default="rag-slice-bm25", help="agent is the scout, without a model")
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--scratch", type=Path)
    chosen = parser.parse_args()
    if not (chosen.data / "questions.jsonl").is_file():
        subprocess.run([sys.executable, GENERATOR, "--out", chosen.data], check=True)
    with tempfile.TemporaryDirectory(dir=chosen.scratch, prefix="full-size-") as folder:
        measure(Path(folder), chosen)


def measure(folder: Path, chosen: argparse.Namespace) -> None:
    data = chosen.data
    asked = question_ids(data, chosen.questions)
    options = ["--data", data, "--tier", "medium", "--memory", chosen.memory]
    options += ["--store", folder / "store", "--concurrency", chosen.concurrency, "--sandbox", "auto"]
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors")
    begun = time.monotonic()
    import_lme_v2(data, Store.open(folder / "store"), only=named(data, asked))
    imported = time.monotonic()
    store = Store.open(folder / "store")
    prepare_parts(store, store.slugs(), lambda _done, _total: None)
    done = time.monotonic()
    print(f"import: {imported - begun:.0f} s; search terms, once for a store: {done - imported:.0f} s")
    for name in ("first pass", "second pass"):
        ids = asked if name == "first pass" else last_answered(folder / "first-pass")
        out = folder / name.replace(" ", "-")
        chosen_ids = folder / f"{out.name}.txt"
        chosen_ids.write_text("\n".join(ids))
        questions = ["--questions", str(chosen_ids), "--out", str(out)]
        command = [*PROGRAM, "eval", "run", *map(str, options), *questions]
        if chosen.kill and name == "first pass":
            kill_halfway(command, out, len(ids))
            command = [*PROGRAM, "eval", "resume", str(out)]
        tell(name, watched(command, Views(store)), out, chosen)
        subprocess.run([*PROGRAM, "eval", "show", str(out)], check=True)
    print(f"floor of a view, a loop of links and folders: {links_floor(folder / 'store'):.2f} s")


def question_ids(data: Path, questions: int) -> list[str]:
    lines = (data / "questions.jsonl").read_text().splitlines()[:questions]
    return [json.loads(line)["id"] for line in lines]


def last_answered(run: Path) -> list[str]:
    """The questions whose views were used last, so that they are still there."""
    records = sorted(run.glob("questions/*/query.1.json"), key=lambda path: path.stat().st_mtime)
    return [json.loads(path.read_bytes())["question_id"] for path in records[-AGAIN:]]


def named(data: Path, questions: list[str]) -> set[str]:
    """The trajectories that the haystacks of these questions name."""
    haystacks = json.loads((data / "haystacks" / "lme_v2_medium.json").read_bytes())
    return {one for question in questions for one in haystacks[question]}


def kill_halfway(command: list[str], out: Path, questions: int) -> None:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.glob("questions/*/query.1.json"))) < questions // 2:
        time.sleep(0.1)
    process.kill()
    process.wait()
    print(f"killed with {len(list(out.glob('questions/*/query.1.json')))} of {questions} questions done")


def watched(command: list[str], views: Views) -> Watched:
    """Run a command and watch it."""
    seen = Watched()
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look() -> None:
        while process.poll() is None:
            seen.resident = max(seen.resident, resident(process.pid, "VmHWM"))
            seen.together = max(seen.together, sum(resident(one, "VmRSS") for one in family(process.pid)))
            seen.views = max(seen.views, sum(map(views.size, views.names())))
            time.sleep(0.5)

    looking = threading.Thread(target=look)
    looking.start()
    assert process.stdout is not None
    for line in process.stdout:
        if match := LEFT.search(line):
            seen.told.append((time.monotonic(), float(match[2])))
    process.wait()
    looking.join()
    ended = time.monotonic()
    seen.seconds = ended - begun
    seen.told = [(left, ended - when) for when, left in seen.told]
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return seen


def resident(pid: int, figure: str) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(rf"{figure}:\s+(\d+) kB", status)
    return float(found[1]) * 1024 if found else 0.0


def family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def tell(name: str, seen: Watched, out: Path, chosen: argparse.Namespace) -> None:
    records = [json.loads(path.read_bytes()) for path in out.glob("questions/*/query.*.json")]
    waits = [record["view_seconds"] for record in records]
    queries = [record["result"]["seconds"] for record in records]
    busy = sum(waits) + sum(queries)
    beside = max(0.0, seen.seconds * chosen.concurrency - busy) / max(1, len(records))
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / max(1, len(records))
    wrong = [abs(told - real) / max(seen.seconds, 1e-9) for told, real in seen.told]
    print(
        f"{name}: {len(records)} questions in {seen.seconds:.0f} s, {chosen.concurrency} at a time; "
        f"wait for view and index {spread(waits)} s; query {spread(queries)} s; "
        f"at most {beside:.2f} s a question beside them (start-up and idle threads included), "
        f"{written / MB:.2f} MB a question written; views and indexes at most {seen.views / MB:.0f} MB; "
        f"resident at most {seen.resident / MB:.0f} MB, with its children {seen.together / MB:.0f} MB; "
        f"progress lines wrong by "
        f"{100 * statistics.fmean(wrong) if wrong else 0:.0f} % of the run on average"
    )


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.2f} (at most {ordered[-1]:.2f})" if ordered else "-"


def links_floor(store: Path) -> float:
    """Seconds to link the texts and pictures of 498 trajectories into a new tree."""
    target = store / "floor"
    begun = time.monotonic()
    for trajectory in sorted((store / "trajectories").iterdir())[:498]:
        place = target / trajectory.name
        place.mkdir(parents=True)
        for part in ("states", "screenshots"):
            if (trajectory / part).is_dir():
                for file in (trajectory / part).iterdir():
                    try:
                        os.link(file, place / file.name)
                    except OSError:  # after hundreds of views a picture that many share has all its links
                        shutil.copyfile(file, place / file.name)
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
