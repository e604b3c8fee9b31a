"""A trajectory whose id has control characters and line ends is found, cited and scored like any other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evals.dataset import load_data_root
from evals.evidence_recall import evidence_recall
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import Views
from runbook.evidence.known import KnownTrajectories
from runbook.evidence.reading import parse_evidence

SCOUT = Path(__file__).resolve().parents[2] / "helpers" / "scout" / "__main__.py"


def recording(name: str, text: str) -> str:
    states = [
        {"state_index": n, "url": "http://shop.test/", "action": None, "accessibility_tree": f"{text} {n}"}
        for n in range(2)
    ]
    return json.dumps({"id": name, "goal": "Look around", "domain": "web", "states": states})


@pytest.fixture(params=["run\n7", "run\r\n7\tx", "run\x01\x7f7", "\u0085run 7"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    name = request.param
    root = tmp_path / "data"
    (root / "haystacks").mkdir(parents=True)
    lines = [recording(name, "The zeppelin lands at gate"), recording("other", "Nothing to see")]
    (root / "trajectories.jsonl").write_text("\n".join(lines))
    question = {
        "id": "q",
        "domain": "web",
        "question_type": "static",
        "question": "Where does the zeppelin land?",
        "answer": "gate",
        "eval_function": "norm_phrase_set_match",
    }
    (root / "questions.jsonl").write_text(json.dumps(question))
    (root / "haystacks" / "lme_v2_small.json").write_text(json.dumps({"q": [name, "other"]}))
    gold = {"q": {"spans": [{"trajectory_id": name, "start_state_index": 0, "end_state_index": 1}]}}
    (root / "gold.json").write_text(json.dumps(gold))
    return root


def test_it_is_found_cited_and_scored(root: Path, tmp_path: Path) -> None:
    data = load_data_root(root)
    store = Store.open(tmp_path / "store")
    slugs = import_lme_v2(root, store, only=data.haystacks["q"]).slugs
    data.check_trajectories(slugs.keys())
    workspace = tmp_path / "workspace"
    (workspace / "notes").mkdir(parents=True)
    (workspace / "question.json").write_text(
        json.dumps({"question": data.questions[0].question, "image": None})
    )
    with Views(store).acquire(slugs[one] for one in data.haystacks["q"]) as view:
        (workspace / "haystack").symlink_to(view.path)
        environment = {"PATH": os.environ["PATH"], "MEMORY_WORKSPACE": str(workspace)}
        subprocess.run([sys.executable, "-I", "-S", "-B", str(SCOUT)], env=environment, check=True)
        known = KnownTrajectories((one.id, one.slug, one.states) for one in view.entries.values())
    raw = (workspace / "memory_module_output.json").read_bytes()
    evidence = parse_evidence(raw, known).evidence
    assert data.gold is not None
    assert evidence_recall(evidence.trajectory_spans, data.gold["q"]).all_pieces_hit
