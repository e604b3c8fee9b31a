"""Timelines: commands in their order, with an end whatever the length of a trace."""

from collections.abc import Iterator

from evals.report.texts import Texts
from evals.report.timeline import read_timeline
from evals.report.timings import mean_phases, phases
from runbook.traces import Kind, Source, TraceEvent


def call(number: int, *, at: float, end: bool = True, **told: object) -> Iterator[TraceEvent]:
    base = {
        "source": Source.BOTH,
        "call_id": f"c{number}",
        "tool": "shell",
        "command": f"./memory search {number}",
    }
    yield TraceEvent(kind=Kind.TOOL_START, at=at, **base)
    if end:
        yield TraceEvent(kind=Kind.TOOL_END, at=at + 1, duration=1.0, **base, **told)


def test_a_command_has_its_duration_its_exit_code_and_what_it_is_for() -> None:
    line = read_timeline(call(1, at=2.0, exit_code=3, output="no\x1b[0m"), Texts(), steps=10, step_bytes=100)
    (step,) = line.first
    assert (step.at, step.duration, step.exit_code, step.kind) == (2.0, 1.0, 3, "guided")
    assert step.output is not None
    assert step.output.text == "no"
    assert line.tools[0].start == 2.0 / 3


def test_a_command_that_did_not_end_says_so() -> None:
    line = read_timeline(call(1, at=2.0, end=False), Texts(), steps=10, step_bytes=100)
    assert [step.ended for step in line.first] == [False]


def test_calls_that_share_an_id_end_in_their_order() -> None:
    first, second = list(call(1, at=0.0, exit_code=0)), list(call(1, at=5.0, exit_code=7))
    events = [first[0], second[0], first[1], second[1]]
    line = read_timeline(iter(events), Texts(), steps=10, step_bytes=100)
    assert [step.exit_code for step in line.first] == [0, 7]


def test_of_many_steps_the_first_and_the_last_are_kept() -> None:
    events = (event for number in range(1000) for event in call(number, at=float(number)))
    line = read_timeline(events, Texts(), steps=30, step_bytes=100)
    told = [step.text.text for step in (*line.first, *line.last)]
    assert len(told) == 30
    assert told[0].endswith(" 0")
    assert told[-1].endswith(" 999")
    assert line.left_out == 970
    assert line.events == 2000
    assert len(line.tools) <= 300


def test_phases_add_up_and_the_model_s_wait_is_taken_out_of_the_agent_s_time() -> None:
    found = {one.key: one.seconds for one in phases({"agent": 10.0, "model": 6.0, "start": 1.0}, 12.0)}
    assert found == {"start": 1.0, "model": 6.0, "tools": 4.0, "other": 1.0}


def test_means_of_phases_are_over_all_questions() -> None:
    many = [phases({"agent": 10.0}, 10.0), phases({"agent": 4.0, "start": 2.0}, 6.0)]
    assert {one.key: one.seconds for one in mean_phases(many)} == {"tools": 7.0, "start": 1.0}
    assert mean_phases([]) == []
