"""Figures of real CLIs' recordings, counted by hand from their output and from the model traffic.

The folders of `recorded/` hold what an attempt on the demo's recordings left, with the scripted model of the
tests in the place of a real one: in `memory` it searched, read the best state and submitted, each from a
response of its own; in `parallel` its first response asked for `sleep 1` twice, the second wrote evidence.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from evals.traces.addresses import Names
from evals.traces.attempt import AttemptReading, read_attempt
from runbook.traces import read_trace, write_trace

RECORDED = Path(__file__).with_name("recorded")
READ = "db37bac723-b291985080"
NAMES = Names({READ: "the trajectory that was read"})


class Counted(NamedTuple):
    """What was counted by hand."""

    started_at: str
    bytes_read: int
    """Of the results in the requests."""
    model_seconds: float
    """From each request to its last byte, overlaps once."""
    tool_seconds: float
    """From the stream's start of each command to its end, overlaps once, without model calls."""


MEMORY = {
    "codex": Counted("2026-11-30T02:55:50.844+00:00", 5963, 0.16, 0.11),
    "claude-code": Counted("2026-11-30T02:56:16.957+00:00", 5753, 0.17, 0.94),
    "gemini-cli": Counted("2026-11-30T02:56:47.857+00:00", 6212, 0.06, 0.79),
    "opencode": Counted("2026-11-30T02:57:22.812+00:00", 5755, 0.15, 2.46),
}
PARALLEL = {
    "codex": Counted("2026-11-30T02:56:02.410+00:00", 340, 0.27, 0.98),
    "claude-code": Counted("2026-11-30T02:56:30.515+00:00", 31, 0.25, 1.51),
    "gemini-cli": Counted("2026-11-30T02:57:06.092+00:00", 247, 0.08, 1.68),
    "opencode": Counted("2026-11-30T02:57:53.088+00:00", 34, 0.15, 3.37),
}


def reading(agent: str, mode: str, started_at: str, folder: Path) -> AttemptReading:
    for file in (RECORDED / f"{agent}-{mode}").iterdir():
        shutil.copy(file, folder)
    write_trace(folder, stream=agent, agent=agent, started_at=started_at)
    return read_attempt(read_trace(folder / "trace.jsonl"), NAMES)


@pytest.mark.parametrize("agent", MEMORY)
def test_a_search_a_read_and_a_submit_are_what_they_are_with_every_cli(agent: str, tmp_path: Path) -> None:
    counted = MEMORY[agent]
    found = reading(agent, "memory", counted.started_at, tmp_path)
    figures = found.figures
    assert (figures.calls, figures.classes) == (3, {"guided": 2, "output": 1})
    assert (figures.rounds, figures.first_rounds) == (3, [{"guided": 1}, {"guided": 1}, {"output": 1}])
    assert (figures.repeated, figures.failed, figures.truncated, figures.unknown_events) == (0, 0, 0, 0)
    assert figures.bytes_read == counted.bytes_read
    assert list(found.opened) == [("the trajectory that was read", 5)]
    assert ("the trajectory that was read", 5) in found.listed
    assert figures.model_seconds == pytest.approx(counted.model_seconds, abs=0.006)
    assert figures.tool_seconds == pytest.approx(counted.tool_seconds, abs=0.006)


@pytest.mark.parametrize("agent", PARALLEL)
def test_two_commands_of_one_response_are_one_round_and_their_time_counts_once(
    agent: str, tmp_path: Path
) -> None:
    counted = PARALLEL[agent]
    figures = reading(agent, "parallel", counted.started_at, tmp_path).figures
    assert (figures.calls, figures.classes) == (3, {"other": 2, "output": 1})
    assert (figures.rounds, figures.first_rounds) == (2, [{"other": 2}, {"output": 1}])
    assert (figures.repeated, figures.failed, figures.truncated, figures.errors) == (0, 0, 0, 0)
    assert figures.bytes_read == counted.bytes_read
    assert figures.model_seconds == pytest.approx(counted.model_seconds, abs=0.006)
    assert figures.tool_seconds == pytest.approx(counted.tool_seconds, abs=0.006)
