"""What a trace says of one attempt."""

from collections.abc import Iterator

from evals.traces.addresses import Names
from evals.traces.attempt import AttemptReading, read_attempt
from runbook.gateway.records import Usage
from runbook.traces import Kind, Source, TraceEvent

NAMES = Names({"shop-0123456789": "tr-shop", "mail-abcdef0123": "tr-mail"})


def call(
    number: int,
    command: str,
    *,
    response: str = "",
    at: float = 1.0,
    seconds: float = 0.5,
    source: Source = Source.WIRE,
    **end: object,
) -> Iterator[TraceEvent]:
    told = {
        "source": source,
        "call_id": f"c{number}",
        "tool": "bash",
        "command": command,
        "response": response,
    }
    yield TraceEvent(kind=Kind.TOOL_START, at=at, **told)
    yield TraceEvent(kind=Kind.TOOL_END, at=at + seconds, duration=seconds, **(told | end))


def asked(at: float, seconds: float) -> TraceEvent:
    tokens = Usage(fresh_input=10, output=5)
    return TraceEvent(
        kind=Kind.USAGE,
        source=Source.WIRE,
        at=at,
        duration=seconds,
        tokens=tokens,
        cost_usd=0.5,
        scope="call",
    )


def read(*parts: object) -> AttemptReading:
    events = [event for part in parts for event in ([part] if isinstance(part, TraceEvent) else part)]
    return read_attempt(events, NAMES)


def test_a_round_is_a_response_with_calls() -> None:
    figures = read(
        call(1, "cat question.json", response="call 1"),
        call(2, "rg x haystack", response="call 2"),
        call(3, "./memory search x", response="call 2"),
        TraceEvent(kind=Kind.MESSAGE, source=Source.WIRE, response="call 3", text="no calls"),
        call(4, "./memory submit --note x", response="call 4"),
    ).figures
    assert figures.rounds == 3
    assert figures.first_rounds == [{"setup": 1}, {"raw": 1, "guided": 1}, {"output": 1}]
    assert figures.classes == {"setup": 1, "raw": 1, "guided": 1, "output": 1}


def test_only_the_first_eight_rounds_are_profiled() -> None:
    figures = read(*(call(n, f"rg {n} haystack", response=f"call {n}") for n in range(20))).figures
    assert (figures.rounds, len(figures.first_rounds), figures.calls) == (20, 8, 20)


def test_where_responses_are_not_told_a_round_ends_with_its_first_result() -> None:
    starts = [list(call(n, f"ls {n}")) for n in range(4)]
    both = [starts[0][0], starts[1][0], starts[1][1], starts[0][1]]
    assert read(both, starts[2], starts[3]).figures.rounds == 3


def test_what_was_printed_but_never_sent_to_the_model_was_not_read() -> None:
    sent = call(1, "rg x haystack", shown_bytes=20, output_bytes=999)
    printed = call(2, "./memory submit --note x", source=Source.STREAM, output_bytes=5)
    assert read(sent, printed).figures.bytes_read == 20
    alone = call(1, "rg x haystack", source=Source.STREAM, output_bytes=5)
    assert read(alone).figures.bytes_read == 5


def test_repeated_failed_and_cut_calls_are_counted() -> None:
    figures = read(
        call(1, "rg  x haystack", failed=True, exit_code=1, shown_bytes=10),
        call(2, "rg x haystack", truncated=True, shown_bytes=20, output_bytes=999),
        call(3, "rg x haystack", output_bytes=5),
        call(4, "rg y haystack"),
    ).figures
    assert (figures.repeated, figures.failed, figures.truncated) == (2, 1, 1)


def test_model_wait_and_tool_time_do_not_count_twice() -> None:
    figures = read(
        asked(2.0, 2.0),
        asked(3.0, 2.0),
        call(1, "a", at=3.0, seconds=2.0),
        call(2, "b", at=3.5, seconds=2.5),
        asked(7.0, 2.0),
    ).figures
    # Model: 0-3 and 5-7; tools: 3-6, of which 5-6 lie within a model call.
    assert (figures.model_seconds, figures.tool_seconds, figures.seconds) == (5.0, 2.0, 7.0)
    assert figures.tokens == Usage(fresh_input=30, output=15)
    assert figures.cost_usd == 1.5


def test_without_times_nothing_is_said_of_them() -> None:
    [start, end] = call(1, "ls")
    figures = read(start.model_copy(update={"at": None}), end.model_copy(update={"at": None})).figures
    assert (figures.model_seconds, figures.tool_seconds, figures.seconds) == (None, None, None)


def test_a_call_that_never_ended_and_an_end_without_a_start_count() -> None:
    started, _ = call(1, "rg x haystack")
    _, ended = call(2, "./memory search x")
    assert read(started, ended).figures.classes == {"raw": 1, "guided": 1}


def test_states_are_opened_when_first_asked_for() -> None:
    reading = read(
        call(1, "cat haystack/trajectories/shop-0123456789/0007.txt", at=2.0),
        call(2, "cd haystack/trajectories/shop-0123456789 && cat 0007.txt 0008.txt", at=5.0),
        call(3, "./memory span tr-mail 3:5", at=6.0, output="shop-0123456789:9 and mail-abcdef0123/0001.png"),
    )
    assert reading.opened == {
        ("tr-shop", 7): 2.0,
        ("tr-shop", 8): 5.0,
        ("tr-mail", 3): 6.0,
        ("tr-mail", 4): 6.0,
        ("tr-mail", 5): 6.0,
    }
    assert reading.listed == {("tr-shop", 9), ("tr-mail", 1)}
