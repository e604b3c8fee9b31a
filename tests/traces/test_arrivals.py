"""Times are those at which output arrived."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runbook.traces.arrivals import COALESCE_SECONDS, ArrivalLog, Arrivals
from runbook.traces.lines import read_lines


def test_a_line_is_stamped_when_its_last_byte_arrived(tmp_path: Path) -> None:
    with ArrivalLog(tmp_path / "times") as log:
        log.note(10, 1.0)
        log.note(25, 2.0)
        log.note(30, 3.0)
    arrivals = Arrivals(tmp_path / "times")
    assert [arrivals.at(offset) for offset in (1, 10, 11, 25, 26, 30)] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert arrivals.at(99) == 3.0
    arrivals.close()


def test_chunks_in_quick_succession_share_a_stamp(tmp_path: Path) -> None:
    with ArrivalLog(tmp_path / "times") as log:
        for number in range(1000):
            log.note(number + 1, number * 0.00001)
    assert len((tmp_path / "times").read_bytes().splitlines()) < 10


def test_without_stamps_there_is_no_time(tmp_path: Path) -> None:
    assert Arrivals(tmp_path / "missing").at(5) is None
    (tmp_path / "damaged").write_bytes(b'\xff\n{"a":1}\n[1]\nnull\n[7,1.5]\n[9,')
    assert Arrivals(tmp_path / "damaged").at(5) == 1.5


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 0.02)), min_size=1, max_size=30))
def test_a_stamp_is_never_early_and_hardly_late(tmp_path_factory, steps: list[tuple[int, float]]) -> None:
    path = tmp_path_factory.mktemp("a") / "times"
    noted, size, now = [], 0, 0.0
    with ArrivalLog(path) as log:
        for more, later in steps:
            size, now = size + more, now + later
            noted.append((size, now))
            log.note(size, now)
    arrivals = Arrivals(path)
    for offset, at in noted:
        told = arrivals.at(offset)
        assert told is not None
        assert at - 0.001 <= told <= at + COALESCE_SECONDS + 0.001
    arrivals.close()


def test_lines_of_any_length_are_read_whole_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"short\r\n" + b"x" * 100 + b"\nend")
    with path.open("rb") as file:
        lines = [(line.data, line.end, line.whole) for line in read_lines(file, limit=32)]
    assert lines == [(b"short", 7, True), (b"x" * 32, 108, False), (b"end", 111, True)]


def test_a_trace_is_in_the_order_of_time(attempt) -> None:
    attempt.prints({"type": "turn.started"}, {"type": "thread.started"}, seconds_each=2.0)
    attempt.calls(2.5, text="between", seconds=0.5)
    told = [(event.text, event.at) for event in attempt.traced("codex") if event.text]
    assert told == [("attempt", 0.0), ("turn.started", 2.0), ("between", 3.0), ("thread.started", 4.0)]
