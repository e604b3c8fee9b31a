"""`runbook import claude-code` and `codex`, and asking one's own history the same minute."""

import json
import os
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
    assert figures.startswith("sessions 1, states 3; store ")
    assert masked == "secrets masked: password 1"
    question = "what came of: How do we fix the flaky deploy?"
    assert following == f"""next: runbook ask "{question}" --store '{history.parent}/my store'"""


def test_without_a_store_the_next_command_needs_none_either(runbook: Runbook, history: Path) -> None:
    done = runbook("import", "claude-code", history)
    assert done.stdout.splitlines()[-1] == 'next: runbook ask "what came of: How do we fix the flaky deploy?"'


@pytest.mark.parametrize(
    ("request_made", "question"),
    [
        ("Why is `staging` slow?\nIt was fast.", "what came of: Why is staging slow?"),
        ('Print "$(rm -rf ~)" and $HOME!', "what came of: Print rm rf and HOME?"),
        ("Log in with password: tr0ub4dor", "..."),
        ("go on", "..."),
    ],
)
def test_the_question_to_type_next_is_of_the_newest_session_and_safe_to_type(
    runbook: Runbook, history: Path, request_made: str, question: str
) -> None:
    newest = claude_session("33333333-2222-4333-8444-55555555ffff", request_made).write(history)
    os.utime(newest, (4e9, 4e9))
    done = runbook("import", "claude-code", history, "--store", "store")
    assert done.stdout.splitlines()[-1].startswith(f'next: runbook ask "{question}" --store ')


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
