"""A data set whose order tells where its answers are is flagged."""

import json

import pytest

from evals.position_leak import leak_between, leak_within
from evals.recorded import read_run
from evals.runs.records import InContext, QueryRecord
from evals.runs.summary import summarise
from tests.recorded_runs import Answer, write_run


@pytest.fixture
def leaky(tmp_path, make_data_root):
    """Eight questions, all about the first trajectory of forty."""
    root = make_data_root(tmp_path / "data", questions=8, trajectories=40, states=5)
    gold = {f"q-{n}": {"evidence": [[_span("tr-0", 2)]]} for n in range(8)}
    (root / "gold.json").write_text(json.dumps(gold))
    return root


def _span(trajectory, state):
    return {"trajectory_id": trajectory, "start_state_index": state, "end_state_index": state}


def test_first_beating_random_is_flagged(tmp_path, leaky, run):
    for name in ("first", "random"):
        out = tmp_path / name
        assert run("eval", "run", "--data", leaky, "--memory", name, "--out", out).returncode == 0
    found = leak_between(read_run(tmp_path / "first"), read_run(tmp_path / "random"))
    assert found.leaks
    assert "POSITION LEAK" in str(found)
    first = read_run(tmp_path / "first")
    within = leak_within(first.results.values())
    assert within.questions == 8
    assert summarise(first.folder)["position_leak"]["told"] == str(within)


def test_only_questions_where_both_can_be_told_are_counted(tmp_path, make_data_root):
    root = make_data_root(tmp_path / "data", questions=3, trajectories=3)
    (root / "gold.json").unlink()
    both = {}
    for name in ("first", "random"):
        answers = {f"q-{n}": Answer(in_context=n == 0) for n in range(3)}
        folder = write_run(tmp_path / name, root, answers, memory=name)
        untold = InContext(context=None, gold_spans=None, random_states=None)
        last = folder.records("q-2", QueryRecord)[0]
        folder.append(last.model_copy(update={"answer_in_context": untold}))
        both[name] = read_run(folder.path)
    found = leak_between(both["first"], both["random"])
    assert (found.measure, found.questions) == ("answer_in_context", 2)
