"""A data set whose order tells where its answers are is flagged."""

import json

import pytest

from evals.position_leak import leak_between, leak_within
from evals.recorded import read_run
from evals.runs.summary import summarise


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
