"""An ablation that takes away what nobody reads is told, and nothing is said of one that works."""

from pathlib import Path
from typing import Any

import pytest

from evals.runs.config import RunConfig
from evals.runs.idle_switches import effective, told_idle


def config(**settings: Any) -> RunConfig:
    return RunConfig(data=Path("/data"), store=Path("/store"), **settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"memory": "vanilla"},
            "Agent scout reads neither prompt nor candidates, so --memory vanilla changes",
        ),
        ({"helper": False, "workflow": False}, "so --no-workflow, --no-helper change nothing"),
        ({"candidates": False}, "so --no-candidates changes nothing"),
        ({"manifests": False, "summaries": True}, "so --no-manifests, --summaries change nothing"),
        ({"memory": "rag-slice", "workflow": False}, "Memory rag-slice reads neither"),
        ({"memory": "cascade", "workflow": False}, "Agent scout reads neither"),
        ({"memory": "agentrunbook-r", "manifests": False, "helper": False}, "so --no-helper changes nothing"),
    ],
)
def test_what_changes_nothing_is_told(settings: dict[str, Any], told: str) -> None:
    assert told in told_idle(config(**settings))
    assert told_idle(effective(config(**settings))) == ""


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"memory": "rag-slice"},
        {"memory": "agentrunbook-r", "manifests": False},
        {"agent": "codex", "memory": "vanilla"},
        {"agent": "command", "agent_command": "x", "helper": False},
        {"agent": "codex", "memory": "cascade", "candidates": False},
    ],
)
def test_what_somebody_reads_is_an_ablation(settings: dict[str, Any]) -> None:
    assert told_idle(config(**settings)) == ""
    assert effective(config(**settings)) == config(**settings)
