"""Kill a run with SIGKILL at random moments, resume it, and check what a run promises.

    python -m tests.benchmarks.kill_and_resume [--times 20] [--questions 40] [--sandbox docker] [--seed 1]

Prints one line per kill and the verdict: every question answered, no record rewritten, no question asked
again once its record was there, and no container left beyond its deadline.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.data_roots import write_data_root

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
DEADLINE_SECONDS = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--sandbox", default="docker")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return check(Path(folder), chosen)


def check(folder: Path, chosen: argparse.Namespace) -> int:
    chance = random.Random(chosen.seed)
    run = folder / "run"
    data = write_data_root(folder / "data", questions=chosen.questions, trajectories=20, states=12)
    first = ["eval", "run", "--data", data, "--out", run, "--store", folder / "store"]
    first += ["--sandbox", chosen.sandbox, "--timeout", DEADLINE_SECONDS]
    seen: dict[Path, bytes] = {}
    faults: list[str] = []
    for kill in range(chosen.times):
        command = ["eval", "resume", run] if (run / "run.json").exists() else first
        process = subprocess.Popen(
            [*PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        moment = chance.uniform(0.5, 8.0)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
        faults += compare(seen, run)
        print(f"kill {kill + 1} after {moment:.1f} s: {len(seen)} records, {containers()} containers")
        if len(seen) == chosen.questions:
            break
    time.sleep(DEADLINE_SECONDS + 5.0)
    if left := containers():
        faults.append(f"{left} containers are left beyond their deadline")
    subprocess.run([*PROGRAM, "eval", "resume", str(run)], check=True, stdout=subprocess.DEVNULL)
    faults += compare(seen, run)
    shown = subprocess.run(
        [*PROGRAM, "eval", "show", str(run), "--json"], check=True, capture_output=True
    ).stdout
    coverage = json.loads(shown)["coverage"]
    if coverage != 1.0:
        faults.append(f"coverage is {coverage}")
    again = [path for path in seen if path.name != "query.1.json"]
    faults += [f"{path} is a second query of an answered question" for path in again]
    print(f"{len(seen)} records, coverage {coverage}, {containers()} containers left")
    print("\n".join(faults) if faults else "nothing lost, nothing done twice, nothing left")
    return 1 if faults else 0


def compare(seen: dict[Path, bytes], run: Path) -> list[str]:
    """Add new records to `seen`; returns what happened to the old ones."""
    now = {path: path.read_bytes() for path in run.glob("questions/*/query.*.json")}
    faults = [f"{path} changed" for path, content in seen.items() if now.get(path) != content]
    seen.update(now)
    return faults


def containers() -> int:
    """Running and stopped sandboxes of any process on the engine."""
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", "label=agent-runbook.owner"],
        capture_output=True,
        text=True,
        check=False,
    )
    return len(listed.stdout.split())


if __name__ == "__main__":
    sys.exit(main())
