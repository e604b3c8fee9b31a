"""What a run's figures say of who made it."""

from pathlib import Path

import orjson
import pytest

from evals.recorded import read_run, read_whole_run
from evals.runs.results import load_figures, load_results
from evals.runs.summary import summarise
from evals.traces.run import trace_run
from runbook.cli.tables import _rows
from runbook.context import MemoryContext
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run


def test_an_agent_is_called_what_it_calls_itself_not_by_the_file_it_is_described_in(
    data_root: Path, tmp_path: Path
) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer()}, agent="./mine.toml")
    assert (summarise(folder)["agent"], trace_run(folder.path).agent) == ("scout", "scout")


def test_before_the_first_attempt_the_settings_name_the_agent(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {}, agent="./mine.toml")
    assert summarise(folder)["agent"] == "./mine.toml"


def test_figures_are_made_without_the_texts_of_contexts(data_root: Path, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", data_root, {"q-0": Answer(), "q-1": Answer()})
    record = folder.record()
    whole, light = load_results(folder, record), load_figures(folder, record)
    assert all(one.query.result.context.items for one in whole[:2])
    assert not any(query.result.context.items for one in light for query in one.queries)
    for one in whole:
        for query in one.queries:
            query.result.context = MemoryContext()
    assert light == whole


def test_runs_are_compared_without_their_contexts_and_exported_with_them(
    data_root: Path, tmp_path: Path
) -> None:
    path = write_run(tmp_path / "run", data_root, {"q-0": Answer()}).path
    items = [read(path).results["q-0"].query.result.context.items for read in (read_run, read_whole_run)]
    assert (len(items[0]), len(items[1]) > 0) == (0, True)


def test_evidence_hit_is_the_mean_over_questions_and_its_label_says_so(tmp_path: Path) -> None:
    root = write_data_root(tmp_path / "data", questions=2, trajectories=4)
    spans = [[{"trajectory_id": f"tr-{n}", "start_state_index": 0, "end_state_index": 0}] for n in range(4)]
    gold = {"q-0": {"evidence": spans[:1]}, "q-1": {"evidence": spans[1:]}}
    (root / "gold.json").write_bytes(orjson.dumps(gold))
    answers = {"q-0": Answer(spans=(("tr-0", 0, 0),)), "q-1": Answer(spans=(("tr-1", 0, 0),))}
    summary = summarise(write_run(tmp_path / "run", root, answers))
    assert summary["evidence"]["hit"] == pytest.approx((1 + 1 / 3) / 2), "2 of all 4 pieces were hit"
    label = dict(_rows(summary))["evidence hit"]
    assert label == "66.7 % (mean share of a question's gold pieces, n = 2 questions)"
