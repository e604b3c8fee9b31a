"""What a question must not tell: its id, type and gold are nowhere that an agent can look."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Runbook = Callable[..., CompletedProcess[str]]

# The agent's own command line is visible to it, so the pattern must not match itself.
PATTERN = "KQ7[Z]MARK"
LOOK = f"""
import os, re, subprocess
pattern = re.compile(rb"{PATTERN}")
def look(path):
    try:
        with open(path, "rb") as file:
            found = pattern.search(file.read(5_000_000))
    except OSError:
        return
    if found:
        print("FOUND in", path)
for folder, folders, names in os.walk("/"):
    if pattern.search(os.fsencode(folder)):
        print("FOUND as", folder)
    if folder == "/":
        folders[:] = [one for one in folders if one not in ("proc", "sys", "dev", "usr")]
    for name in names:
        look(os.path.join(folder, name))
for process in [one for one in os.listdir("/proc") if one.isdigit()] + ["self"]:
    for name in ("mountinfo", "mounts", "cmdline", "environ", "cgroup", "status"):
        look(f"/proc/{{process}}/{{name}}")
print("question seen", "warehouse" in open("question.json").read())
print("haystack seen", os.path.exists("haystack/MANIFEST.md"))
"""


@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param("docker", marks=pytest.mark.needs("docker")),
        pytest.param("bubblewrap", marks=pytest.mark.needs("bubblewrap")),
    ],
)
def test_id_type_and_gold_are_nowhere(
    runbook: Runbook, make_data_root: Callable[..., Path], tmp_path: Path, sandbox: str
) -> None:
    data = make_data_root(tmp_path / "data-KQ7ZMARK", questions=1)
    mark_with_canaries(data)
    command = ["--agent", "command", "--agent-command", f"{{python}} -c '{LOOK}'", "--attempts", "1"]
    ended = runbook(
        *("eval", "run", "--data", data, "--out", "run-KQ7ZMARK", "--sandbox", sandbox, *command),
        SECRET_KQ7ZMARK="KQ7ZMARK-KEY",
        OPENAI_API_KEY="sk-KQ7ZMARK",
    )
    assert ended.returncode == 0, ended.stderr
    (said,) = tmp_path.glob("run-KQ7ZMARK/questions/*/attempts/1/stdout")
    text = said.read_text()
    assert "question seen True" in text
    assert "haystack seen True" in text
    assert "FOUND" not in text


def mark_with_canaries(data: Path) -> None:
    """Put the canary into everything about the question that is not the question itself."""
    questions = data / "questions.jsonl"
    row = json.loads(questions.read_text())
    row |= {"id": "q-KQ7ZMARK", "question_type": "dynamic-KQ7ZMARK", "answer": "gold KQ7ZMARK"}
    questions.write_text(json.dumps(row) + "\n")
    for file in (data / "haystacks" / "lme_v2_small.json", data / "gold.json"):
        file.write_text(json.dumps({"q-KQ7ZMARK": json.loads(file.read_text())["q-0"]}))


@pytest.mark.needs("bubblewrap")
def test_mounts_do_not_tell_where_the_helpers_lie(
    runbook: Runbook, make_data_root: Callable[..., Path], tmp_path: Path
) -> None:
    data = make_data_root(tmp_path / "data", questions=1)
    home = tmp_path / "home"
    command = ["--agent", "command", "--agent-command", "cat /proc/self/mountinfo", "--attempts", "1"]
    ended = runbook(
        *("eval", "run", "--data", data, "--out", "run", "--sandbox", "bubblewrap", *command),
        RUNBOOK_HOME=str(home),
    )
    assert ended.returncode == 0, ended.stderr
    (said,) = tmp_path.glob("run/questions/*/attempts/1/stdout")
    (mount,) = [line for line in said.read_text().splitlines() if line.split()[4] == "/opt/helpers"]
    assert "home" not in mount.split()[3]
    assert not [name for name in (home / "helpers").iterdir() if name.name in mount]
