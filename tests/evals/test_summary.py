"""What a run's figures say of who made it."""

from pathlib import Path

from evals.runs.results import load_figures, load_results
from evals.runs.summary import summarise
from evals.traces.run import trace_run
from runbook.context import MemoryContext
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
