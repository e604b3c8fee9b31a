"""How long each verb of the memory command takes, as a ratio to a floor measured in the same run.

    python tests/benchmarks/helper_verbs.py [--view VIEW] [--python /usr/bin/python3] [--rounds 9]

Without --view one of full size is made (498 trajectories, 14,940 states, about 425 MB) in a temporary folder.
The floor of a verb is `PYTHON -I -c pass`; that of grep is `rg -l` of the same word over the same files.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

MEMORY = Path(__file__).resolve().parents[2] / "helpers" / "memory" / "__main__.py"
TRAJECTORIES = 498
STATES = 30
STATE_BYTES = 28_500
WORDS = ("Order", "Invoice", "Export", "Filter", "Sort", "Report", "Incident", "Request", "Coupon", "Status")
ROLES = ("link", "button", "gridcell", "StaticText", "menuitem", "textbox", "option")


def make_view(folder: Path) -> Path:
    """Write a view of full size: trees whose menus repeat and whose grids differ."""
    rng = random.Random(7)
    menu = [f"\t\t[{n}] link '{rng.choice(WORDS)} {rng.choice(WORDS)}', clickable" for n in range(250)]
    rows = ["slug\tid\tstates\toutcome\taction_convention\tstart_url\tgoal"]
    for number in range(TRAJECTORIES):
        slug = f"task-{number:04d}-{rng.randrange(16**10):010x}"
        trajectory = folder / "trajectories" / slug
        trajectory.mkdir(parents=True)
        goal = f"{rng.choice(WORDS)} the {rng.choice(WORDS)} number {number}"
        about = f"id: task-{number:04d}\ngoal: {goal}\nstart_url: http://shop.test/\noutcome: success\n"
        (trajectory / "about.txt").write_text(about + f"states: {STATES}\naction_convention: source\n")
        for index in range(STATES):
            (trajectory / f"{index:04d}.txt").write_text(_state(rng, menu, index))
        rows.append(f"{slug}\ttask-{number:04d}\t{STATES}\tsuccess\tsource\thttp://shop.test/\t{goal}")
    (folder / "trajectories.tsv").write_text("\n".join(sorted(rows, reverse=False)) + "\n")
    (folder / "MANIFEST.md").write_text("# Haystack\n" + "\n".join(f"- line {n} of it" for n in range(900)))
    return folder


def _state(rng: random.Random, menu: list[str], index: int) -> str:
    lines = [
        f"url: http://shop.test/page/{index}",
        "action: click('a12')  # [a12] button 'Export', clickable",
    ]
    lines += ["thought: The next thing is the table.", "", "RootWebArea 'Orders', focused", *menu]
    size = sum(map(len, lines))
    while size < STATE_BYTES:
        words = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(2, 7)))
        line = (
            f"\t\t\t[{rng.randrange(90_000)}] {rng.choice(ROLES)} '{words} {rng.randrange(10**6)}', visible"
        )
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines) + "\n"


def measure(argv: Sequence[str], rounds: int, workspace: Path) -> tuple[float, float]:
    """Median wall and CPU seconds of a command, children included."""
    environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(workspace)}
    wall, cpu = [], []
    for _ in range(rounds):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(argv, capture_output=True, cwd=workspace, env=environment, check=False)
        wall.append(time.perf_counter() - start)
        if done.returncode > 1:  # 1 is "nothing found"
            raise SystemExit(f"{argv} failed: {done.stderr.decode()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(wall), statistics.median(cpu)


def report(name: str, figures: tuple[float, float], floor: tuple[float, float], target: str = "") -> None:
    """One line of the table."""
    ratio = f"{figures[0] / floor[0]:5.1f}x wall {figures[1] / floor[1]:5.1f}x CPU"
    print(f"{name:34} {figures[0] * 1e3:8.1f} ms wall {figures[1] * 1e3:8.1f} ms CPU  {ratio}  {target}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--view", type=Path, help="a haystack view; made when not given")
    parser.add_argument("--python", default=os.path.realpath(sys.executable), help="the sandbox's python")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    workspace = Path(tempfile.mkdtemp(prefix="helper-verbs-"))
    try:
        if options.view:
            (workspace / "haystack").symlink_to(options.view.resolve())
        else:
            make_view(workspace / "haystack")
        _measure_all(workspace, options.python, options.rounds)
    finally:
        shutil.rmtree(workspace)


def _measure_all(workspace: Path, python: str, rounds: int) -> None:
    memory = [python, "-I", "-S", "-B", str(MEMORY)]
    trajectories = workspace / "haystack" / "trajectories"
    slug = sorted(path.name for path in trajectories.iterdir())[len(list(trajectories.iterdir())) // 2]
    subprocess.run([python, "-m", "compileall", "-q", str(MEMORY.parent)], check=True)
    line = (trajectories / slug / "0000.txt").read_text().rstrip("\n").rpartition("\n")[2].strip()
    floor = measure([python, "-I", "-c", "pass"], rounds, workspace)
    report("floor: python -I -c pass", floor, floor)
    report("python -I -S -c pass", measure([python, "-I", "-S", "-c", "pass"], rounds, workspace), floor)
    for words, target in (
        (["state", slug, "1"], "3x"),
        (["span", slug, "0:2"], "3x"),
        (["show", slug], "3x"),
        (["overview"], ""),
        (["overview", "--find", "export"], ""),
        (["timeline", slug], ""),
        (["diff", slug, "0", "1"], ""),
        (["match", slug, "Export.*visible"], ""),
        (["state", slug, "1", "--find", "Export"], ""),
        (["budget", "--span", f"{slug}:0-3"], ""),
        (["where", line], "4x, 80 ms"),
    ):
        report(
            " ".join(["memory", words[0], *words[2:3]]),
            measure([*memory, *words], rounds, workspace),
            floor,
            target,
        )
    slow = max(3, rounds // 3)
    for word in ("Export", "the", "visible", "zzz-nowhere"):
        listing = measure(["rg", "-l", word, str(trajectories)], slow, workspace)
        report(f"rg -l {word}", listing, floor)
        report(
            f"  memory grep {word} / rg -l", measure([*memory, "grep", word], slow, workspace), listing, "2x"
        )


if __name__ == "__main__":
    main()
