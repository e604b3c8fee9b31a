"""Kill a run with SIGKILL at random moments, resume it, and check what a run promises.

    python -m tests.benchmarks.kill_and_resume [--stage judge] [--times 20] [--questions 60] [--sandbox ...]

With `--stage query` no reader runs. With reader or judge scout answers first, unharmed; then the requests of
that stage are slow, so that the kills fall into it, and the server counts what was paid.
Prints one line per kill and the verdict: every question finished, no record rewritten, nothing done or paid
for again once its record was there, and no container left beyond its deadline.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.slow_models import SlowModels
from tests.data_roots import write_data_root

PROGRAM = (sys.executable, "-c", "from runbook.cli import main; main()")
DEADLINE_SECONDS = 20.0
ENDING_SECONDS = 20.0
"""What a container that nobody watches any more has beyond its deadline: 5 to end, the rest to be removed."""
CONCURRENCY = 2
KINDS = {"query": ("query",), "reader": ("query", "reading"), "judge": ("query", "reading", "verdict")}


@dataclass(frozen=True)
class Killed:
    """What is to be killed, where, and how often."""

    stage: str
    times: int
    questions: int
    sandbox: str
    seed: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stage", choices=tuple(KINDS), default="query")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--sandbox", default="docker")
    parser.add_argument("--seed", type=int, default=1)
    chosen = Killed(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory() as folder, served(chosen.stage) as models:
        return check(Path(folder), chosen, models)


@contextmanager
def served(stage: str) -> Iterator[SlowModels | None]:
    """The reader and judge of a run, slow in the stage that is killed."""
    if stage == "query":
        yield None
        return
    with SlowModels(slow=stage) as models:
        yield models


def check(folder: Path, chosen: Killed, models: SlowModels | None) -> int:
    chance = random.Random(chosen.seed)
    run = folder / "run"
    data = data_root(folder / "data", chosen)
    first = ["eval", "run", "--data", data, "--out", run, "--store", folder / "store", "--set", "gates=[]"]
    first += ["--sandbox", chosen.sandbox, "--timeout", DEADLINE_SECONDS, "--concurrency", CONCURRENCY]
    if models is not None:
        first += ["--reader", models.url, "--reader-model", "reader"]
        first += ["--judge", models.url, "--judge-model", "judge"]
    seen: dict[Path, bytes] = {}
    faults: list[str] = []
    kills = 0
    while kills < chosen.times and not finished(seen, chosen):
        command = ["eval", "resume", run] if (run / "run.json").exists() else first
        process = subprocess.Popen(
            [*PROGRAM, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        moment = chance.uniform(0.5, 8.0)
        if models is not None:
            models.wait_for_a_request(process)
            moment = chance.uniform(0.0, 2.0)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        process.wait()
        faults += compare(seen, run)
        if models is not None:
            tell(models, seen)
        print(
            f"kill {kills} after {moment:.1f} s: {len(seen)} records, {containers(run)} containers",
            flush=True,
        )
    if chosen.sandbox == "docker" and (left := left_over(run)):
        faults.append(f"{left} containers are left beyond their deadline")
    subprocess.run([*PROGRAM, "eval", "resume", str(run)], check=True, stdout=subprocess.DEVNULL)
    faults += compare(seen, run)
    shown = subprocess.run(
        [*PROGRAM, "eval", "show", str(run), "--json"], check=True, capture_output=True
    ).stdout
    coverage = json.loads(shown)["coverage"]
    if coverage != 1.0:
        faults.append(f"coverage is {coverage}")
    again = [path for path in seen if not path.name.endswith(".1.json")]
    faults += [f"{path} is a second record of a finished stage" for path in again]
    if models is not None:
        faults += overpaid(models, kills)
    print(f"{kills} kills, {len(seen)} records, coverage {coverage}")
    print("\n".join(faults) if faults else "nothing lost, nothing done or paid for twice, nothing left")
    return 1 if faults else 0


def data_root(root: Path, chosen: Killed) -> Path:
    """Questions that name their ids; of gotchas, which a judge has to score, where its stage is killed."""
    made = write_data_root(root, questions=chosen.questions, trajectories=20, states=12)
    rows = [json.loads(line) for line in (made / "questions.jsonl").read_text().splitlines()]
    for row in rows:
        row["question"] += f" ({row['id']})"
        if chosen.stage == "judge":
            row |= {"question_type": "errors-gotchas", "eval_function": "llm_gotchas_checker"}
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return made


def finished(seen: dict[Path, bytes], chosen: Killed) -> bool:
    done = Counter(path.name.partition(".")[0] for path in seen)
    return all(done[kind] == chosen.questions for kind in KINDS[chosen.stage])


def tell(models: SlowModels, seen: dict[Path, bytes]) -> None:
    """Let the server know what is on record, so that it sees what is paid for twice."""
    for role, kind in (("reader", "reading"), ("judge", "verdict")):
        ids = {
            json.loads(content)["question_id"] for path, content in seen.items() if path.name.startswith(kind)
        }
        models.recorded(role, ids)


def overpaid(models: SlowModels, kills: int) -> list[str]:
    """A kill may cost what was in flight, a request for each thread of the process."""
    again = sum(models.asked.values()) - len(models.asked)
    print(
        f"{sum(models.asked.values())} requests, {again} of them again, after {kills} kills of {CONCURRENCY}"
    )
    lost = [f"{again} requests were sent again"] if again > CONCURRENCY * kills else []
    return models.faults + lost


def compare(seen: dict[Path, bytes], run: Path) -> list[str]:
    """Add new records to `seen`; returns what happened to the old ones."""
    now = {path: path.read_bytes() for path in run.glob("questions/*/*.json")}
    faults = [f"{path} changed" for path, content in seen.items() if now.get(path) != content]
    seen.update(now)
    return faults


def left_over(run: Path) -> int:
    """How many containers are there when all have had their time."""
    until = time.monotonic() + DEADLINE_SECONDS + ENDING_SECONDS
    while (left := containers(run)) and time.monotonic() < until:
        time.sleep(1.0)
    return left


def containers(run: Path) -> int:
    """Running and stopped sandboxes of this run on the engine, whichever process started them."""
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=agent-runbook.run={run.resolve()}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return len(listed.stdout.split())


if __name__ == "__main__":
    sys.exit(main())
