"""The index and the search on generated data: size, CPU, latency, and whether planted facts are found.

    python tests/benchmarks/search.py [--data DIR] [--preset tiny|full] [--tier small|medium]
                                      [--python /usr/bin/python3] [--questions 60] [--rounds 15]

DIR keeps the generated data root and its store between runs (full: 0.95 GB and 2 GB). Targets on the full
preset, tier medium: index at most 15 % of the text and 4 s of CPU for a new view; search and similar at
most 4 x a start of the interpreter and 80 ms; the gold state among the first five of `search` for at least
98 % of the questions.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from evals.dataset import DataRoot, load_data_root  # noqa: E402
from evals.question import EvalQuestion  # noqa: E402
from helpers.memory import tokens  # noqa: E402
from helpers.memory.keys import line_keys, term_keys  # noqa: E402
from manifests.importing import import_lme_v2  # noqa: E402
from manifests.index import Tokeniser, build_index  # noqa: E402
from manifests.index_format import INDEX_FOLDER, LAYOUT  # noqa: E402
from manifests.store import Store  # noqa: E402
from manifests.views import View, Views  # noqa: E402

GENERATOR = REPOSITORY.parent / "shared" / "tools" / "make_haystack.py"
MEMORY = REPOSITORY / "helpers" / "memory" / "__main__.py"
SCOUT = REPOSITORY / "helpers" / "scout" / "__main__.py"
TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys)
FIRST = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--preset", choices=("tiny", "full"), default="tiny")
    parser.add_argument("--tier", choices=("small", "medium"), default="medium")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="search-") as scratch:
        data = arguments.data or Path(scratch) / "data"
        if not (data / "manifest.json").is_file():
            line = [sys.executable, str(GENERATOR), "--out", str(data), "--preset", arguments.preset]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        root = load_data_root(data, arguments.tier)
        question = root.questions[0]
        store = Store.open((arguments.data or Path(scratch)) / "store")
        slugs = import_lme_v2(data, store, only=root.haystacks[question.id]).slugs
        with Views(store).acquire(slugs.values()) as view:
            measure_index(view)
            workspace = make_workspace(Path(scratch) / "workspace", view.path, question.question)
            measure_latency(
                workspace, arguments.python, arguments.rounds, next(iter(slugs.values())), question
            )
            measure_facts(root, slugs, workspace, arguments.python, arguments.questions)


def measure_index(view: View) -> None:
    """Build the index twice: with parts to make, and without."""
    text = sum(
        entry.state_path(i).stat().st_size for entry in view.entries.values() for i in range(entry.states)
    )
    for name in ("first index", "index of a new view"):
        shutil.rmtree(view.path / INDEX_FOLDER, ignore_errors=True)
        before, start = cpu_seconds(), time.monotonic()
        folder = build_index(view, TOKENISER, processes=2)
        wall, cpu = time.monotonic() - start, cpu_seconds() - before
        print(f"{name:<24}{cpu:7.2f} s CPU {wall:7.2f} s wall")
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    parts = sum(sizes.values()) - sizes[LAYOUT]
    print(
        f"{'size':<24}{parts / 1e6:7.2f} MB of parts, which all views share, {100 * parts / text:.1f} % of "
        f"{text / 1e6:.0f} MB; {sizes[LAYOUT] / 1e6:.2f} MB a view"
    )


def measure_latency(workspace: Path, python: str, rounds: int, slug: str, question: EvalQuestion) -> None:
    """Medians over alternating runs, wall and CPU, as ratios to a start of the interpreter."""
    lines = {
        "interpreter floor": [python, "-I", "-c", "pass"],
        "search, 4 words": memory(python, "search", "override code procedure approval"),
        "search, the question": memory(python, "search", question.question),
        "similar": memory(python, "similar", slug, "2"),
        "where, a planted line": memory(python, "where", planted_line(workspace)),
        "where, a grid's line": memory(python, "where", lines_of(workspace, slug)[-1]),
        "where, a menu's line": memory(python, "where", lines_of(workspace, slug)[5]),
        "candidates": memory(python, "candidates"),
        "scout": [python, "-I", "-S", str(SCOUT)],
    }
    wall: dict[str, list[float]] = {name: [] for name in lines}
    cpu: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(rounds):
        for name, line in lines.items():
            before, start = cpu_seconds(), time.perf_counter()
            run(line, workspace)
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(cpu_seconds() - before)
    floors = [statistics.median(one["interpreter floor"]) for one in (wall, cpu)]
    for name in lines:
        told = [
            f"{1000 * statistics.median(one[name]):7.1f} ms {statistics.median(one[name]) / floor:5.2f} x"
            for one, floor in zip((wall, cpu), floors, strict=True)
        ]
        print(f"{name:<24}{told[0]} wall {told[1]} CPU  (best {1000 * min(wall[name]):.1f} ms wall)")


def measure_facts(root: DataRoot, slugs: dict[str, str], workspace: Path, python: str, most: int) -> None:
    """The share of planted facts with a gold state among the first hits for the question's words."""
    assert root.gold is not None
    asked, found, misses = 0, 0, []
    for question in root.questions:
        places = {
            (slugs[span.trajectory_id], index)
            for piece in root.gold[question.id].pieces
            for span in piece
            if span.trajectory_id in slugs
            for index in range(span.start_state_index, span.end_state_index + 1)
        }
        if not places or asked == most:
            continue
        asked += 1
        said = run(memory(python, "search", question.question, "--limit", str(FIRST)), workspace)
        hits = {tuple(line.split()[1].rsplit(":", 1)) for line in said.splitlines() if line[:1].isdigit()}
        if places & {(slug, int(index)) for slug, index in hits}:
            found += 1
        else:
            misses.append(question.id)
    share = 100 * found / max(1, asked)
    print(f"{'planted facts':<24}{found} of {asked} in the first {FIRST} ({share:.1f} %) {misses or ''}")


def lines_of(workspace: Path, slug: str) -> list[str]:
    """What the third state of a trajectory shows."""
    return (workspace / "haystack" / "trajectories" / slug / "0002.txt").read_text().strip().split("\n")


def planted_line(workspace: Path) -> str:
    """The first line of the haystack that tells of a planted code."""
    for path in sorted((workspace / "haystack").glob("trajectories/*/0*.txt")):
        for line in path.read_text().splitlines():
            if "textbox 'Override code for" in line:
                return line
    raise SystemExit("no planted code in this haystack")


def memory(python: str, *line: str) -> list[str]:
    """A call of the memory command as its launcher makes it."""
    return [python, "-I", "-S", str(MEMORY), *line]


def run(line: list[str], workspace: Path) -> str:
    """What the command prints."""
    environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(workspace)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{line[-2:]}: {done.stderr}")
    return done.stdout


def cpu_seconds() -> float:
    """CPU time of this process and of its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def make_workspace(workspace: Path, view: Path, question: str) -> Path:
    """A workspace with this view and question."""
    (workspace / "notes").mkdir(parents=True)
    (workspace / "haystack").symlink_to(view)
    (workspace / "question.json").write_text(json.dumps({"question": question, "image": None}))
    return workspace


if __name__ == "__main__":
    main()
