"""`launch` writes the agent's files, opens the way to its model, and becomes the agent."""

import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.waiting import AT_ONCE

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ROOT / "helpers" / "launch"
# What the launched command says of itself.
ASK = "import os, sys, json; print(json.dumps([sys.argv[1:], dict(os.environ), sys.stdin.read()]))"


def with_order(order: object, stdin: str = "") -> str:
    """Standard input that begins with an order; a text is given as it is."""
    text = order if isinstance(order, str) else json.dumps(order)
    return f"{len(text)}\n{text}{stdin}"


def launch(order: object, *argv: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    socket_path = order.get("socket") if isinstance(order, dict) else None
    return subprocess.run(
        [sys.executable, "-I", "-S", LAUNCH, "--", *argv],
        input=with_order(order, stdin),
        env={"PATH": os.defpath, "FORWARDS_TO": str(socket_path), **env},
        capture_output=True,
        text=True,
        timeout=AT_ONCE,
        check=False,
    )


def test_the_command_gets_arguments_environment_and_the_stdin_after_the_order() -> None:
    done = launch({}, sys.executable, "-c", ASK, "a b", "$x", stdin="the prompt", MARK="1")
    arguments, environment, stdin = json.loads(done.stdout)
    assert arguments == ["a b", "$x"]
    assert stdin == "the prompt"
    assert environment["MARK"] == "1"


def test_an_order_of_a_megabyte_arrives_and_leaves_the_rest_of_stdin(tmp_path: Path) -> None:
    text, rest = "é" * 500_000, "rest\0" * 50_000
    done = launch({"home": {"prompt.md": text}}, "cat", stdin=rest, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "prompt.md").read_text(encoding="utf-8") == text
    assert done.stdout == rest


@pytest.mark.parametrize("command", ["cat", "cat /dev/stdin"])
def test_where_stdin_is_a_file_the_command_does_not_find_the_order_in_it(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "stdin").write_text(with_order({"home": {}}, "the prompt"))
    with (tmp_path / "stdin").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-I", "-S", LAUNCH, "--", "sh", "-c", command],
            stdin=file,
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, b"the prompt")


def test_a_command_that_is_given_no_stdin_finds_nothing_there() -> None:
    done = launch({"stdin": False}, "readlink", "/proc/self/fd/0")
    assert done.stdout == "/dev/null\n"


@pytest.mark.parametrize(
    ("stdin", "said"),
    [("", "does not begin"), ("a prompt", "does not begin"), ("9\n{}", "7 bytes are missing")],
)
def test_stdin_without_a_whole_order_is_one_line(stdin: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", LAUNCH, "--", "true"],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert done.stderr.startswith("launch: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_exit_code_is_the_commands_own() -> None:
    assert launch({}, "sh", "-c", "exit 7").returncode == 7


def test_a_broken_pipe_ends_the_command_as_anywhere() -> None:
    done = launch({}, "sh", "-c", "yes | head -n 1; trap")
    assert done.stdout == "y\n"
    assert "Broken pipe" not in done.stderr
    ignored = launch({}, "sh", "-c", "grep SigIgn /proc/self/status").stdout.split()[1]
    assert int(ignored, 16) & (1 << 12) == 0  # SIGPIPE is 13


@pytest.mark.parametrize(("argv", "code"), [(["/no/such/program"], 127), (["/etc/passwd"], 126)])
def test_a_command_that_cannot_run_is_named(argv: list[str], code: int) -> None:
    done = launch({}, *argv)
    assert done.returncode == code
    assert argv[0] in done.stderr


def test_files_are_written_for_the_owner_alone(tmp_path: Path) -> None:
    text = 'a "quoted" größe\n'
    done = launch({"home": {".tool/deep/settings.json": text}}, "true", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    written = tmp_path / ".tool" / "deep" / "settings.json"
    assert written.read_text(encoding="utf-8") == text
    assert written.stat().st_mode & 0o777 == 0o600
    assert written.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "", "a//b", ".", "a/\x00b"])
def test_no_file_is_written_outside_home(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = launch({"home": {name: "text"}}, "true", HOME=str(home))
    assert done.returncode == 125
    assert done.stderr.startswith("launch: ")
    assert list(tmp_path.rglob("*")) == [home]


def test_a_link_in_home_is_not_followed(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (home / "folder").symlink_to(outside)
    (home / "file").symlink_to(outside / "file")
    for name in ("folder/file", "file"):
        assert launch({"home": {name: "text"}}, "true", HOME=str(home)).returncode == 125
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "order", ["not json", "[]", '{"home": []}', '{"socket": 3, "port": 1}', '{"socket": "/x"}']
)
def test_a_wrong_order_is_one_line(order: str, tmp_path: Path) -> None:
    done = launch(order, "true", HOME=str(tmp_path))
    assert done.returncode == 125
    assert done.stderr.startswith("launch: ")
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_said() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = launch({"port": taken.getsockname()[1], "socket": "/nowhere"}, "true")
    assert done.returncode == 125
    assert "in use" in done.stderr
