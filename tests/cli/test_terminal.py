"""Nothing that recordings, agents or models say is obeyed by the user's terminal."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from runbook.cli.terminal import inert

Runbook = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize("mark", ["\x1b", "\x07", "\r", "\x9b", "\u202e", "\u2066", "\x00", "\x7f"])
def test_controls_become_marks(mark: str) -> None:
    assert inert(f"a{mark}b\tc\nü漢") == "a\ufffdb\tc\nü漢"


def test_escapes_in_ids_details_and_notes_never_reach_the_terminal(
    runbook: Runbook, data_root: Path, tmp_path: Path
) -> None:
    questions = data_root / "questions.jsonl"
    row = json.loads(questions.read_text().splitlines()[0]) | {"question_type": "\x1b[31mred[/x]"}
    questions.write_text(json.dumps(row) + "\n")
    script = r"printf '\033]0;owned\007 said\n' >&2; exit 3"
    command = ["--agent", "command", "--agent-command", f'sh -c "{script}"', "--attempts", "1"]
    ended = runbook(
        *("eval", "run", "--data", data_root, "--out", "run", "--sandbox", "process"),
        *(*command, "--allow-no-isolation"),
    )
    assert ended.returncode == 0, ended.stderr
    shown = runbook("eval", "show", "run").stdout
    assert "\x1b" not in ended.stdout + ended.stderr + shown
    assert "said" in ended.stdout
