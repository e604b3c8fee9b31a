"""`runbook import claude-code` and `codex`, and asking one's own history the same minute."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests.session_files import claude_session, codex_session

Runbook = Callable[..., subprocess.CompletedProcess[str]]
QUESTION = "how did we fix the flaky deploy?"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A folder of Claude Code with one session, in which a password was printed."""
    session = claude_session()
    session.user("the password: tr0ub4dor")
    session.write(tmp_path / ".claude")
    return tmp_path / ".claude"


def test_an_import_tells_what_it_did_and_what_to_type_next(runbook: Runbook, history: Path) -> None:
    done = runbook("import", "claude-code", history, "--store", "my store")
    assert done.returncode == 0, done.stderr
    figures, masked, following = done.stdout.splitlines()
    assert figures.startswith("sessions 1, states 3, reused 0, repeated 0, empty 0, skipped 0; store ")
    assert masked == "secrets masked: password 1"
    assert following == f"""next: runbook ask "{QUESTION}" --store '{history.parent}/my store'"""


def test_without_a_store_the_next_command_needs_none_either(runbook: Runbook, history: Path) -> None:
    done = runbook("import", "claude-code", history)
    assert done.stdout.splitlines()[-1] == f'next: runbook ask "{QUESTION}"'


def test_programs_get_the_same_as_json(runbook: Runbook, history: Path) -> None:
    runbook("import", "claude-code", history, "--store", "store")
    done = runbook("import", "claude-code", history, "--store", "store", "--json")
    report = json.loads(done.stdout)
    assert (report["sessions"], report["states"], report["reused"]) == (1, 3, 1)
    assert report["masked"] == {"password": 1}
    assert list(report["slugs"]) == ["shop-2026-03-02-5555abcd"]
    assert report["next"].startswith("runbook ask ")


def test_what_is_no_session_is_one_line_with_the_mend(runbook: Runbook, tmp_path: Path) -> None:
    file = codex_session().write(tmp_path)
    done = runbook("import", "claude-code", file, "--store", "store")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"error: {file}:1: no line of this file is of a Claude Code session; use `runbook import codex`"
    ]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_persons_own_history_can_be_asked(runbook: Runbook, tmp_path: Path, agent: str) -> None:
    session = claude_session() if agent == "claude-code" else codex_session()
    session.write(tmp_path / "history")
    assert runbook("import", agent, "history", "--store", "store").returncode == 0
    asked = runbook("ask", QUESTION, "--store", "store", "--sandbox", "process")
    assert asked.returncode == 0, asked.stderr
    assert "shop-2026-03-02-5555abcd 0-" in asked.stdout
