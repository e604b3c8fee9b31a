"""A verb that takes too long is stopped, with all that it started, and says what to try instead."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import AT_ONCE, FOREVER, wait_for


@pytest.mark.parametrize(
    "line", [["match", "REFUND", "(a+)+$"], ["state", "REFUND", "0", "--find", "(a+)+$"]]
)
def test_a_catastrophic_expression_stops_at_the_time_limit(
    line: list[str], new_view: Any, workspace: Any, recorded: Any, tmp_path: Path
) -> None:
    view = new_view()
    slug = view.add("evil", [recorded("a" * 60 + "!")])
    view.finish()
    line = [slug if word == "REFUND" else word for word in line]
    start = time.monotonic()
    done = workspace.memory(*line, env={"MEMORY_TIME_LIMIT": "0.7", "PATH": str(tmp_path)})
    assert time.monotonic() - start < AT_ONCE
    assert done.code == 3
    assert "stopped after 0.7 s; try a simpler pattern" in done.err


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (["show", "ID"], "single states (memory state ID N)"),
        (["timeline", "ID"], "some of its states (memory span ID A:B)"),
        (["span", "ID", "0"], "fewer states"),
        (["grep", "x"], "one trajectory (--in ID), a simpler pattern, or text as it is (-F)"),
    ],
)
def test_the_time_limit_comes_with_advice_for_the_verb(
    line: list[str], instead: str, new_view: Any, workspace: Any, recorded: Any, tmp_path: Path
) -> None:
    view = new_view()
    slug = view.add("slow", [recorded("x")])
    endless = view.finish() / "trajectories" / slug / "0000.txt"
    endless.unlink()
    os.mkfifo(endless)
    line = [slug if word == "ID" else word for word in line]
    done = workspace.memory(*line, env={"MEMORY_TIME_LIMIT": "0.3", "PATH": str(tmp_path)})
    assert (done.code, done.err) == (3, f"memory: stopped after 0.3 s; try {instead}\n")


def test_an_expression_that_never_looks_at_signals_stops_too(
    new_view: Any, workspace: Any, recorded: Any, tmp_path: Path
) -> None:
    view = new_view()
    slug = view.add("evil", [recorded("ab" * 2_000_000)])
    view.finish()
    done = workspace.memory("match", slug, "[ab]*c", env={"MEMORY_TIME_LIMIT": "0.7", "PATH": str(tmp_path)})
    assert done.code == 3


def test_waiting_for_input_that_never_ends_stops_at_the_time_limit(shop: Any) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        shop.workspace.argv("submit", "-"),
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shop.workspace.environment({"MEMORY_TIME_LIMIT": "0.5"}),
    )
    assert process.wait(timeout=AT_ONCE) == 3
    os.close(reading)
    os.close(writing)
    assert shop.workspace.files() == {}


def test_a_stopped_verb_takes_its_children_along(
    new_view: Any, workspace: Any, recorded: Any, tmp_path: Path
) -> None:
    view = new_view()
    view.add("run", [recorded("x")])
    view.finish()
    programs, pid = tmp_path / "bin", tmp_path / "pid"
    programs.mkdir()
    (programs / "rg").write_text(
        f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep {FOREVER}\n"
    )
    (programs / "rg").chmod(0o755)
    for limit in ("0.7", "3", "10"):  # on some machines the child is late in starting
        environment = {"MEMORY_TIME_LIMIT": limit, "PATH": f"{programs}:{os.environ['PATH']}"}
        done = workspace.memory("grep", "x", env=environment)
        assert done.code == 3
        if pid.exists():
            break
    child = int(pid.read_text())
    wait_for(lambda: not is_running(child))


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
