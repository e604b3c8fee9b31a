"""`runbook watch` in a real terminal: a pseudo-terminal, with its size, its keys and its name."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evals.runs.folder import RunFolder
from runbook.outcomes import Outcome
from tests.data_roots import write_data_root
from tests.recorded_runs import Answer, write_run
from tests.report.test_watch import PROGRAM, call, running
from tests.waiting import AT_ONCE

LEAVES = b"\x1b[?1049l"
HOSTILE = ("\x1b[31mred\x1b[2J\x1b]0;title\x07", "abc \u202edcba", "ls " + "x" * 10_000_000, "a\nb\r\n\tc")


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, arguments: list[str], rows: int, columns: int, name: str) -> None:
        reading, writing = os.pipe()
        self.process, self.file = pty.fork()
        if not self.process:
            os.read(reading, 1)
            kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
            os.execve(PROGRAM[0], [*PROGRAM, *arguments], kept | {"TERM": name})
        self.output = b""
        self.resize(rows, columns)
        self.flags = self._flags()
        os.write(writing, b"!")  # the program starts once the terminal is as it shall be
        os.close(reading)
        os.close(writing)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.file, keys)

    def wait_for(self, condition: Callable[[str], bool], seconds: float = AT_ONCE) -> str:
        """Read on until what is on the screen now is as asked for."""
        deadline = time.monotonic() + seconds
        while not condition(self.screen()):
            assert time.monotonic() < deadline, self.screen()
            assert self._read(), f"it has ended: {self.screen()}"
        return self.screen()

    def ended(self) -> int:
        """Read to the end; the exit code. The terminal must be as it was before."""
        assert self.process
        deadline = time.monotonic() + AT_ONCE
        while self._read():
            assert time.monotonic() < deadline
        assert self._flags() == self.flags
        process, self.process = self.process, 0
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def screen(self) -> str:
        """What was written since the last time that the cursor went home, without what moves and colours."""
        latest = self.output.rpartition(b"\x1b[H")[2]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", latest.decode("utf-8", "replace")).replace("\r", "")

    def close(self) -> None:
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.file)

    def _read(self) -> bool:
        if not select.select([self.file], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.file, 65536)
        except OSError:  # what Linux says when the other end is closed
            return False
        self.output += data
        return bool(data)

    def _flags(self) -> int:
        return int(termios.tcgetattr(self.file)[3])


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Watches a run in a terminal of so many rows and columns."""
    made: list[Terminal] = []

    def open_terminal(run: RunFolder, rows: int = 24, columns: int = 80, name: str = "xterm") -> Terminal:
        made.append(Terminal([str(run.path), "--interval", "0.3"], rows, columns, name))
        return made[-1]

    yield open_terminal
    for terminal in made:
        terminal.close()


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """45 questions: 8 answered, 4 failed, 27 running with hostile commands."""
    data = write_data_root(tmp_path / "data", questions=45)
    answers = {f"q-{number}": Answer(score=number % 2) for number in range(8)}
    answers |= {f"q-{number}": Answer(outcome=Outcome.TIMEOUT) for number in range(8, 12)}
    folder = write_run(tmp_path / "run", data, answers, agent="./somewhere/my-agent.toml")
    for number in range(13, 40):
        calls = running(folder, f"q-{number}") / "model_calls.jsonl"
        calls.write_bytes(call(1, HOSTILE[number % len(HOSTILE)] if number < 17 else "ls", 0.25))
    return folder


def is_whole(screen: str) -> bool:
    return "q or Ctrl-C ends the watching" in screen


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_a_key_ends_the_watching_and_leaves_the_terminal_as_it_was(
    key: bytes, run: RunFolder, opens: Callable[..., Terminal]
) -> None:
    with run.locked():
        terminal = opens(run)
        terminal.wait_for(is_whole)
        terminal.press(key)
        assert terminal.ended() == 0
    assert terminal.output.count(LEAVES) == 1
    assert "8/45 questions" in terminal.output.rpartition(LEAVES)[2].decode()


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120), (8, 30)])
def test_the_picture_fits_whatever_the_size_of_the_terminal(
    rows: int, columns: int, run: RunFolder, opens: Callable[..., Terminal]
) -> None:
    with run.locked():
        terminal = opens(run, rows, columns)
        lines = terminal.wait_for(is_whole if rows > 10 else lambda screen: "more" in screen).split("\n")
        assert len(lines) <= rows
        assert max(map(len, lines)) <= columns
        if rows > 10:
            left_out = any(line.startswith("and ") and line.rstrip().endswith(" more") for line in lines)
            assert left_out == (rows < 40)
            assert any("timeout" in line for line in lines)


def test_a_terminal_that_is_resized_is_drawn_anew(run: RunFolder, opens: Callable[..., Terminal]) -> None:
    with run.locked():
        terminal = opens(run, 40, 120)
        terminal.wait_for(is_whole)
        terminal.resize(16, 50)
        lines = terminal.wait_for(lambda now: is_whole(now) and now.count("\n") < 16).split("\n")
        assert max(map(len, lines)) <= 50


def test_what_agents_run_is_shown_and_never_obeyed(run: RunFolder, opens: Callable[..., Terminal]) -> None:
    with run.locked():
        terminal = opens(run, 40, 120)
        terminal.wait_for(lambda screen: is_whole(screen) and "ls xxxx" in screen)
        terminal.press(b"q")
        terminal.ended()
    assert b"\x1b[31mred" not in terminal.output
    assert b"\x1b]0;" not in terminal.output
    assert b"\x1b[2J" not in terminal.output
    assert "\u202e".encode() not in terminal.output


def test_a_terminal_that_cannot_redraw_gets_lines(run: RunFolder, opens: Callable[..., Terminal]) -> None:
    with run.locked():
        terminal = opens(run, name="dumb")
        terminal.wait_for(lambda said: "8/45 questions" in said)
        terminal.press(b"\x03")
        assert terminal.ended() == 0
    assert b"\x1b" not in terminal.output


def test_it_ends_by_itself_with_the_run_and_says_how_it_stands(
    run: RunFolder, opens: Callable[..., Terminal]
) -> None:
    terminal = opens(run)
    assert terminal.ended() == 0
    said = terminal.output.rpartition(LEAVES)[2].decode()
    assert "27 broken off" in said
    assert "runbook eval resume" in said


def test_the_agent_is_called_by_its_name(
    run: RunFolder, tmp_path: Path, opens: Callable[..., Terminal]
) -> None:
    assert opens(run).ended() == 0
    fresh = write_run(tmp_path / "fresh", tmp_path / "data", {}, agent="./somewhere/my-agent.toml")
    terminal = opens(fresh)
    assert terminal.ended() == 0
    said = terminal.output.rpartition(LEAVES)[2].decode()
    assert "my-agent" in said
    assert "somewhere" not in said
