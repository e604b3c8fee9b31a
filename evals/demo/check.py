"""Check the demonstration's data: `python -m evals.demo.check [DATA_ROOT]`.

Prints one line per fault and exits 1 where there is any.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from evals.dataset import DatasetError, load_data_root
from evals.demo.check_questions import question_faults
from evals.demo.check_recordings import Trajectories, recording_faults

DATA = Path(__file__).parent / "data"
LARGEST_ROOT = 6_000_000
TYPES = (
    "static-environment",
    "static-environment-abs",
    "dynamic-environment",
    "dynamic-environment-abs",
    "procedure",
    "procedure-abs",
    "errors-gotchas",
)
JUDGES = ("abstention", "gotchas")
KINDS = ("right", "premise_following", "unknown", "contradictory")
AT_LEAST = {
    "trajectories": 24,
    "states per trajectory": 10,
    "trajectories that succeed": 3,
    "trajectories that fail": 3,
    "questions": 40,
    "questions that need a picture": 8,
    "questions with a wrong premise": 8,
    "questions with an image of their own": 1,
    "questions whose gold has two pieces or more": 10,
}


def faults(root: Path) -> list[str]:
    """Everything that is wrong with a data root, one line each."""
    try:
        data = load_data_root(root)
        rows = read_lines(root / "trajectories.jsonl")
        trajectories: Trajectories = {str(row["id"]): row for row in rows}
        data.check_trajectories(trajectories)
        gold = orjson.loads((root / "gold.json").read_bytes())
        cases = read_lines(root / "judge_cases.jsonl")
    except (DatasetError, OSError, orjson.JSONDecodeError, KeyError) as error:
        return [f"{root}: {error}"]
    if missing := [question.id for question in data.questions if question.id not in gold]:
        return [f"gold.json: question {question} has no gold" for question in missing]
    found = list(recording_faults(root, rows))
    for question in data.questions:
        states = {name: trajectories[name] for name in data.haystacks[question.id]}
        found += [
            f"question {question.id}: {fault}"
            for fault in question_faults(root, question, gold[question.id], states)
        ]
    types = Counter(question.question_type for question in data.questions)
    found += [f"no question is of the type {name}" for name in TYPES if not types[name]]
    found += too_few(
        {
            "trajectories": len(rows),
            "states per trajectory": sum(len(row["states"]) for row in rows) / max(1, len(rows)),
            "trajectories that succeed": sum(row["outcome"] == "success" for row in rows),
            "trajectories that fail": sum(row["outcome"] == "failure" for row in rows),
            "questions": len(data.questions),
            "questions that need a picture": sum(gold[one.id].get("visual", False) for one in data.questions),
            "questions with a wrong premise": sum(one.abstention_type for one in data.questions),
            "questions with an image of their own": sum(one.image is not None for one in data.questions),
            "questions whose gold has two pieces or more": sum(
                len(gold[one.id]["evidence"]) > 1 for one in data.questions
            ),
        }
    )
    found += judge_case_faults(cases, {question.question: question.answer for question in data.questions})
    found += size_faults(root)
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip()]


def too_few(counts: dict[str, float]) -> Iterator[str]:
    for name, least in AT_LEAST.items():
        if counts[name] < least:
            yield f"{counts[name]:g} {name}, at least {least} are wanted"


def judge_case_faults(cases: list[dict[str, Any]], references: dict[str, str]) -> Iterator[str]:
    """Cases whose expected label is not plain from their kind, or that fit no question; and too few."""
    counts = Counter((case["judge"], case["kind"]) for case in cases)
    for judge in JUDGES:
        for kind in KINDS:
            if counts[judge, kind] < 8:
                yield f"judge_cases.jsonl: {counts[judge, kind]} cases {judge}/{kind}, at least 8 are wanted"
    if len({case["id"] for case in cases}) != len(cases):
        yield "judge_cases.jsonl: ids occur twice"
    for case in cases:
        if case["expected"] != int(case["kind"] == "right"):
            yield f"judge case {case['id']}: a {case['kind']} response cannot expect {case['expected']}"
        if references.get(case["question"]) != case["reference"]:
            yield f"judge case {case['id']}: question and reference are not those of a question"


def size_faults(root: Path) -> Iterator[str]:
    total = sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
    if total > LARGEST_ROOT:
        yield f"{total:,} bytes in all, at most {LARGEST_ROOT:,} are allowed"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.demo.check", description=__doc__)
    parser.add_argument("data_root", nargs="?", type=Path, default=DATA, metavar="DATA_ROOT")
    root: Path = parser.parse_args().data_root
    found = faults(root)
    for fault in found:
        print(fault)
    print(f"{root}: {len(found) or 'no'} fault{'' if len(found) == 1 else 's'}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
