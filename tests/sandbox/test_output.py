"""Output: bytes as they came, up to a cap, and no waiting for whoever else holds the pipe."""

import os
import time
from collections.abc import Iterator
from io import FileIO

import pytest

from sandbox.output import OutputCap, PipeExecution
from sandbox.protocol import Ending


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, PipeExecution]]:
    """(write end of stdout, write end of stderr, execution with a cap of 10 bytes)"""
    out_reader, out_writer = os.pipe()
    err_reader, err_writer = os.pipe()
    yield out_writer, err_writer, PipeExecution(FileIO(out_reader), FileIO(err_reader), output_bytes=10)
    for descriptor in (out_writer, err_writer):
        os.close(descriptor)


def test_cap_splits_the_chunk_that_crosses_it() -> None:
    cap = OutputCap(5)
    assert [cap.keep(b"abc"), cap.keep(b"defg"), cap.keep(b"h")] == [b"abc", b"de", b""]
    assert (cap.full, cap.dropped) == (True, 3)


def test_what_was_written_before_the_end_arrives_though_the_pipes_stay_open(pipes) -> None:
    out, err, execution = pipes
    os.write(out, b"\xff\x00ok")
    os.write(err, b"warn")
    execution.finish(Ending.EXITED, 3)
    assert {chunk.stream: chunk.data for chunk in execution} == {"stdout": b"\xff\x00ok", "stderr": b"warn"}
    result = execution.result()
    assert (result.ending, result.exit_code, result.dropped_bytes) == (
        Ending.EXITED,
        3,
        {"stdout": 0, "stderr": 0},
    )


def test_bytes_beyond_the_cap_are_counted_per_stream(pipes) -> None:
    out, err, execution = pipes
    os.write(out, b"x" * 25)
    os.write(err, b"y" * 10)
    execution.finish(Ending.EXITED, 0)
    kept = b"".join(chunk.data for chunk in execution if chunk.stream == "stdout")
    assert kept == b"x" * 10
    assert execution.result().dropped_bytes == {"stdout": 15, "stderr": 0}


def test_chunks_carry_the_time_of_their_arrival(pipes) -> None:
    out, _, execution = pipes
    arriving = iter(execution)
    times = []
    for _ in range(2):
        times.append(time.monotonic())
        os.write(out, b"x")
        times.append(next(arriving).at)
    execution.finish(Ending.EXITED, 0)
    assert list(arriving) == []
    assert times == sorted(times)


def test_first_report_of_an_end_counts(pipes) -> None:
    _, _, execution = pipes
    execution.finish(Ending.DEADLINE, None)
    execution.finish(Ending.EXITED, 0)
    assert execution.result().ending is Ending.DEADLINE


def test_result_can_be_asked_for_again(pipes) -> None:
    out, _, execution = pipes
    os.write(out, b"x")
    execution.finish(Ending.EXITED, 0)
    assert execution.result() == execution.result()
