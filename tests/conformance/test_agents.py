"""`runbook agents test` with real CLIs in Docker: all cases for two agents, the telling ones for the others.

The kit for all agents is run by hand: `runbook agents test NAME...`.
"""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runbook.agents.conformance.cases import CASES
from tests.agent_tools import install, sandbox_of, tool_chains

WHOLE = ("react", "codex")
TELLING = ("healthy", "401", "cut-stream", "hang")
OTHERS = ("react-responses", "claude-code", "gemini-cli", "mini-swe-agent", "opencode", "pi", "qwen-code")

pytestmark = [pytest.mark.needs("agents", "docker"), pytest.mark.timeout(1200)]


def results_of(agent: str, cases: tuple[str, ...], folder: Path) -> list[dict[str, Any]]:
    """Install the agent unless it is there, and run the cases two at a time."""
    with ExitStack() as stack:
        install(agent, sandbox_of("docker", stack))
    command = [
        sys.executable,
        "-c",
        "from runbook.cli import main; main()",
        "agents",
        "test",
        agent,
        "--json",
    ]
    command += ["--sandbox", "docker", "--cases", ",".join(cases), "--out", str(folder)]
    command += ["--idle", "25", "--deadline", "30", "--parallel", "2"]
    done = subprocess.run(
        command,
        env={**os.environ, "RUNBOOK_HOME": str(tool_chains().parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr.decode("utf-8", "replace")
    results: list[dict[str, Any]] = json.loads(done.stdout)
    assert done.returncode == int(any(one["verdict"] == "fail" for one in results))
    return results


def problems(results: list[dict[str, Any]]) -> list[str]:
    return [f"{one['case']}: {one['reason']}" for one in results if one["verdict"] == "fail"]


@pytest.mark.parametrize("agent", WHOLE)
def test_an_agent_behaves_in_all_cases(agent: str, tmp_path: Path) -> None:
    results = results_of(agent, tuple(case.name for case in CASES), tmp_path)
    assert problems(results) == []
    assert [one["case"] for one in results if one["verdict"] == "n/a"] == []


@pytest.mark.parametrize("agent", OTHERS)
def test_an_agent_behaves_where_its_model_fails_and_where_not(agent: str, tmp_path: Path) -> None:
    results = results_of(agent, TELLING, tmp_path)
    assert problems(results) == []
    assert len(results) == len(TELLING)
