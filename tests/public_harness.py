"""A small stand-in of our own for a checkout of the public harness: its plug-in contract and nothing else.

It offers the query context, which holds the gold answer, and leaves a file where anyone asks for it.
"""

from pathlib import Path

_MEMORY = '''
"""Base class and registry of memories."""

from pathlib import Path

MEMORY_TYPES = {}
TRAP = Path(__file__).parent / "asked_for_the_context"


class Memory:
    memory_type = ""

    def __init__(self, memory_params):
        self.memory_params = dict(memory_params)

    def configure_runtime(self, **kwargs):
        return None

    def post_query_hook(self, *, query, query_image, memory_context):
        return None

    def set_query_context(self, **kwargs):
        self._context = kwargs

    def get_query_context(self):
        TRAP.write_text("yes")
        return self._context


def register_memory(memory_class):
    assert memory_class.memory_type
    MEMORY_TYPES[memory_class.memory_type] = memory_class
    return memory_class
'''

_DATA = '''
"""The inputs of a run."""

import json


def materialize_runtime_questions(*, data_root, domain, question_ids, limit, output_path):
    rows = [json.loads(line) for line in (data_root / "questions.jsonl").read_text().splitlines() if line]
    rows = [row for row in rows if row["domain"] == domain][:limit]
    output_path.write_text(json.dumps(rows))
    return rows


def materialize_runtime_haystack(*, data_root, tier, selected_questions, output_path):
    whole = json.loads((data_root / "haystacks" / f"lme_v2_{tier}.json").read_text())
    output_path.write_text(json.dumps({row["id"]: whole[row["id"]] for row in selected_questions}))
'''

_HARNESS = '''
"""One run: build a memory for each question, insert its haystack, query."""

import argparse
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory_modules.memory import MEMORY_TYPES

NONSHARED_PARALLEL_MEMORY_TYPES = {"rag"}


def main():
    parser = argparse.ArgumentParser()
    for name in ("domain", "questions-path", "haystack-path", "trajectories-path", "memory-config-path",
                 "output-dir", "model", "base-url", "temperature", "top-p", "top-k", "evaluator-model",
                 "evaluator-base-url", "reader-max-concurrent-requests"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--prompt-build-max-workers", type=int, default=1)
    args = parser.parse_args()
    config = json.loads(Path(args.memory_config_path).read_text())
    if args.prompt_build_max_workers > 1:
        assert config["memory_type"] in NONSHARED_PARALLEL_MEMORY_TYPES, "no parallel workers for this memory"
    rows = json.loads(Path(args.questions_path).read_text())
    haystacks = json.loads(Path(args.haystack_path).read_text())
    trajectories = {}
    for line in Path(args.trajectories_path).read_text().splitlines():
        trajectory = json.loads(line)
        trajectories[trajectory["id"]] = trajectory
    cancel = threading.Event()

    def answer(row):
        memory = MEMORY_TYPES[config["memory_type"]](config["memory_params"])
        memory.configure_runtime(query_trace_dir=None, cancel_event=cancel)
        for one in haystacks[row["id"]]:
            memory.insert(trajectories[one])
        memory.set_query_context(question_id=row["id"], question_item=row)
        context = memory.query(row["question"], query_image=row["image"])
        for item in context:
            assert item["type"] in ("text", "image") and item["value"].strip()
            assert item["type"] == "text" or Path(item["value"]).exists()
        return {"question_id": row["id"], "memory_context": context}

    with ThreadPoolExecutor(args.prompt_build_max_workers) as pool:
        records = list(pool.map(answer, rows))
    lines = [json.dumps(record) for record in records]
    (Path(args.output_dir) / "per_question.jsonl").write_text("\\n".join(lines))
    (Path(args.output_dir) / "run_args.json").write_text(json.dumps(vars(args)))
'''


def write_public_harness(root: Path) -> Path:
    """The stand-in as a checkout in `root`."""
    for package, modules in {
        "memory_modules": {"memory": _MEMORY},
        "data": {"public_data": _DATA},
        "evaluation": {"harness": _HARNESS},
    }.items():
        (root / package).mkdir(parents=True)
        (root / package / "__init__.py").touch()
        for name, text in modules.items():
            (root / package / f"{name}.py").write_text(text.lstrip())
    return root
