"""How much of the gold evidence scout finds, and how fast, per data root.

    python tests/benchmarks/scout_recall.py DATA_ROOT... [--budget 20 5] [--python PYTHON] [--misses]

A data root has trajectories.jsonl, questions.jsonl, gold.json and haystacks/lme_v2_small.json. Scout runs
as it does in a sandbox: one process per question, with nothing but the workspace. Printed per root: hit
(share of the pieces of gold that share a state with what was handed in), all (questions with every piece
hit), strict (pieces contained whole), states per question, and seconds of wall time per question.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from evals.dataset import DataRoot, load_data_root  # noqa: E402
from evals.evidence_recall import EvidenceRecall, evidence_recall, summarize_recall  # noqa: E402
from evals.question import EvalQuestion, GoldSpan  # noqa: E402
from helpers.memory import tokens  # noqa: E402
from helpers.memory.keys import line_keys, term_keys  # noqa: E402
from manifests.importing import import_lme_v2  # noqa: E402
from manifests.index import Tokeniser, build_index  # noqa: E402
from manifests.store import Store  # noqa: E402
from manifests.views import Views  # noqa: E402

SCOUT = REPOSITORY / "helpers" / "scout" / "__main__.py"


@dataclass(frozen=True)
class Asked:
    """One question's outcome; `seconds` of wall time for the whole process."""

    question: EvalQuestion
    budget: int
    recall: EvidenceRecall
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", type=Path, nargs="+")
    parser.add_argument("--budget", type=int, nargs="+", default=[20])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--misses", action="store_true", help="name the questions that lack a piece")
    arguments = parser.parse_args()
    print(f"{'root':<12}{'budget':>7}{'n':>4}{'hit':>7}{'all':>7}{'strict':>8}{'states':>8}{'s':>7}")
    for root in arguments.roots:
        with tempfile.TemporaryDirectory(prefix="scout-recall-") as scratch:
            asked = list(ask_all(load_data_root(root), Path(scratch), arguments.budget, arguments.python))
        for budget in arguments.budget:
            tell(root.name, budget, [one for one in asked if one.budget == budget], misses=arguments.misses)


def tell(name: str, budget: int, asked: list[Asked], *, misses: bool) -> None:
    """Print one line of figures, and the questions that lack a piece."""
    told = summarize_recall(one.recall for one in asked)
    seconds = sum(one.seconds for one in asked) / len(asked)
    figures = (
        f"{told.hit:>7.3f}{told.all_pieces_hit:>7.3f}{told.strict:>8.3f}{told.states_per_question:>8.2f}"
    )
    print(f"{name:<12}{budget:>7}{told.questions:>4}{figures}{seconds:>7.2f}")
    for one in asked if misses else []:
        if one.recall.pieces and not one.recall.all_pieces_hit:
            print(f"    {one.question.id} hit {one.recall.hit:.2f}: {one.question.question[:90]!r}")


def ask_all(root: DataRoot, scratch: Path, budgets: list[int], python: str) -> Iterator[Asked]:
    """Ask scout each question of the data root, with each budget."""
    assert root.gold is not None
    store = Store.open(scratch / "store")
    slugs = import_lme_v2(root.path, store).slugs
    views = Views(store)
    for question in root.questions:
        with views.acquire(slugs[i] for i in root.haystacks[question.id]) as view:
            build_index(view, Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys), processes=2)
            workspace = scratch / "workspaces" / question.id
            make_workspace(workspace, view.path, question.question, image=question.image is not None)
            for budget in budgets:
                start = time.monotonic()
                spans = run_scout(workspace, budget, python)
                taken = time.monotonic() - start
                yield Asked(question, budget, evidence_recall(spans, root.gold[question.id]), taken)


def make_workspace(workspace: Path, view: Path, question: str, *, image: bool) -> None:
    """What scout sees of an attempt."""
    (workspace / "notes").mkdir(parents=True)
    (workspace / "haystack").symlink_to(view)
    named = "question_image.png" if image else None
    (workspace / "question.json").write_text(json.dumps({"question": question, "image": named}))


def run_scout(workspace: Path, budget: int, python: str) -> list[GoldSpan]:
    """The spans that scout hands in."""
    environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(workspace)}
    line = [python, "-I", "-S", "-B", str(SCOUT), "--budget", str(budget)]
    subprocess.run(line, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120)
    evidence = json.loads((workspace / "memory_module_output.json").read_text())
    return [GoldSpan(**span) for span in evidence["trajectory_spans"]]


if __name__ == "__main__":
    main()
