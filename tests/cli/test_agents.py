"""`runbook agents` as a user meets it: nothing that is installed is hidden."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runbook.agents.tool_chain import ToolChain
from runbook.cli.tables import sized

Runbook = Callable[..., subprocess.CompletedProcess[str]]

ADAPTER = """\
name = "mine"
wire = "openai-chat"
argv = ["mine"]
[install]
version = "1.2.3"
npm = ["mine@{version}"]
[probe]
argv = ["mine", "--version"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A home in which an adapter of the user's own is installed; returns the adapter's file."""
    file = tmp_path / "mine.toml"
    file.write_text(ADAPTER)
    chain = ToolChain(
        name="mine",
        version="1.2.3",
        digest="0",
        recipe="0",
        machine="x86_64",
        python=None,
        packages={},
        bytes=80_000_000,
        seconds=1.0,
        installed_at=datetime.now(UTC),
        adapter_file=str(file),
    )
    folder = tmp_path / "home" / "agents" / "mine-1.2.3-0"
    (folder / "tools").mkdir(parents=True)
    (folder / "chain.json").write_text(chain.model_dump_json())
    return file


def test_own_tool_chains_are_listed_shown_and_removed(runbook: Runbook, own: Path) -> None:
    home = {"RUNBOOK_HOME": str(own.parent / "home")}
    listed = runbook("agents", "list", **home)
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()}
    assert {"scout", "command", "external", "codex", "mine"} <= set(rows)
    assert "80 MB" in listed.stdout
    assert f"adapter {own}, tools in {own.parent}/home/agents/mine-1.2.3-0" in listed.stdout
    told = {row["name"]: row for row in json.loads(runbook("agents", "list", "--json", **home).stdout)}
    assert told["mine"]["tool_chains"][0]["bytes"] == 80_000_000
    assert "argv" in runbook("agents", "show", "mine", **home).stdout
    own.unlink()
    shown = runbook("agents", "show", "mine", **home)
    assert (shown.returncode, "not there any more" in shown.stdout) == (0, True)
    assert runbook("agents", "uninstall", "mine", **home).returncode == 0
    assert "mine" not in runbook("agents", "list", **home).stdout
    assert "no agent is called 'mine'" in runbook("agents", "show", "mine", **home).stderr


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (12_340, "12.3 KB"),
        (4_500_000, "4.5 MB"),
        (10**10, "10 GB"),
    ],
)
def test_a_size_is_told_in_the_unit_that_suits_it(count: int, said: str) -> None:
    assert sized(count) == said
