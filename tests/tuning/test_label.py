"""Settings that were chosen on a benchmark's questions say so, wherever they go."""

import json
from pathlib import Path

from evals.export.write import export
from evals.recorded import data_of, read_run
from evals.runs.config import TunedOn
from evals.runs.config_file import read_config
from evals.tuning.ready import write_config
from tests.recorded_runs import Answer, write_run

TUNED = TunedOn(digest="ab" * 32, questions=40, settings=20)


def test_an_export_labels_them(data_root: Path, tmp_path: Path) -> None:
    answers = {f"q-{n}": Answer(score=1) for n in range(3)}
    run = read_run(write_run(tmp_path / "run", data_root, answers, tuned_on=TUNED).path)
    done = export(run, data_of(run), unofficial=True)
    assert "out of 20 on 40 questions" in done.label
    assert json.loads(done.files[1].read_text())["label"] == done.label


def test_others_have_no_label(data_root: Path, tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", data_root, {"q-0": Answer(score=1)}).path)
    done = export(run, data_of(run), unofficial=True)
    assert done.label == ""
    assert "label" not in json.loads(done.files[1].read_text())


def test_a_ready_file_is_read_as_the_same_settings(data_root: Path, tmp_path: Path) -> None:
    settings = {
        "data": str(data_root),
        "budget": 7,
        "agent_command": "sh -c 'echo \"a\\tb\" \\ é'",
        "reader": {"model": "m", "base_url": "http://127.0.0.1:9/v1", "sampling": {"temperature": 0.5}},
        "retrieval": {"cascade": {"threshold": 0.25}, "pools": ["raw", "notes"]},
        "gateway": {"retry_seconds": 60, "prices": str(tmp_path / "prices.toml")},
    }
    config = read_config(None, settings, store=tmp_path / "store").model_copy(update={"tuned_on": TUNED})
    file = write_config(
        config, tmp_path / "fast.toml", ["fast: a line\nwith a break"], ["votes", "retrieval.radius"]
    )
    assert "votes = 1" in file.read_text()
    assert file.read_text().startswith("# fast: a line with a break\n")
    assert read_config(file, {}, store=tmp_path / "elsewhere") == config
