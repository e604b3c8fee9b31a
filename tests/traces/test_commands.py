"""What a tool call runs, whatever was wrapped around it."""

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.traces.commands import command_of, parsed_arguments, unwrap
from tests.waiting import AT_ONCE


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("/bin/bash -lc 'pwd; cat question.json'", "pwd; cat question.json"),
        ('bash -c "echo \\"a\\" \\$HOME"', 'echo "a" $HOME'),
        ("bash -lc \"cat <<'X'\nX\necho \"'$(wc -c < f)'", "cat <<'X'\nX\necho $(wc -c < f)"),
        (["bash", "-lc", "ls -l"], "ls -l"),
        (["rg", "-n", "two words"], "rg -n 'two words'"),
        ("sh -c \"bash -lc 'ls'\"", "ls"),
        ("ls -l", "ls -l"),
        ("bash -c 'ls' | head", "bash -c 'ls' | head"),
        ("bash script.sh", "bash script.sh"),
        ("bash -lc 'not closed", "bash -lc 'not closed"),
        ("bashful -c 'ls'", "bashful -c 'ls'"),
        (7, ""),
        (None, ""),
        (["bash", 7], ""),
    ],
)
def test_a_shell_around_a_command_is_taken_off(told: object, text: str) -> None:
    assert unwrap(told).text == text


def test_how_it_was_told_is_kept_where_it_differs() -> None:
    assert unwrap("bash -lc ls").raw == "bash -lc ls"
    assert unwrap("ls").raw == ""


@pytest.mark.parametrize("key", ["command", "cmd"])
def test_a_command_is_found_under_the_names_that_agents_use(key: str) -> None:
    assert command_of({key: "ls", "timeout": 5}).text == "ls"


def test_arguments_that_are_no_json_object_are_no_arguments() -> None:
    assert parsed_arguments('{"command": "ls"') == {}
    assert parsed_arguments("[1]") == {}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_quoting_is_undone(script: str) -> None:
    assert unwrap(f"bash -c {shlex.quote(script)}").text == script.strip()


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
@pytest.mark.parametrize("quoted", [r'"a\$b\`c\"d\\e\nf"', "'a'\"b\"\\ c", '"line\\\nend"', r"a\'b"])
def test_words_are_read_as_a_shell_reads_them(quoted: str) -> None:
    shell = subprocess.run(
        ["sh", "-c", f"printf %s {quoted}"], capture_output=True, text=True, check=True, timeout=AT_ONCE
    )
    assert unwrap(f"sh -c {quoted}").text == shell.stdout
