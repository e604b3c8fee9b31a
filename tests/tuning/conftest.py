"""Data roots that a study can be done on, and its file."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

MakeStudy = Callable[..., Path]
STATES = 5


@pytest.fixture
def deep_root(tmp_path: Path, make_data_root: Callable[..., Path]) -> Path:
    """12 questions over 12 trajectories; each needs all states of its own, so that more states hit more."""
    root = make_data_root(tmp_path / "data", questions=12, trajectories=12, states=STATES)
    gold = {
        f"q-{index}": {
            "evidence": [
                [{"trajectory_id": f"tr-{index}", "start_state_index": state, "end_state_index": state}]
                for state in range(STATES)
            ]
        }
        for index in range(12)
    }
    (root / "gold.json").write_text(json.dumps(gold))
    return root


@pytest.fixture
def make_study(tmp_path: Path, deep_root: Path) -> MakeStudy:
    """Writes study.toml over `deep_root`: `base`, `space` and `more` are TOML."""

    def make(*, space: str = "budget = [1, 5]", base: str = "", more: str = "") -> Path:
        file = tmp_path / "study.toml"
        file.write_text(
            f'[base]\ndata = "data"\nstore = "store"\nsandbox = "process"\n{base}\n[space]\n{space}\n{more}\n'
        )
        return file

    return make
