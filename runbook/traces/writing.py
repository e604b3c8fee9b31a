"""Make an attempt's `trace.jsonl` from what it printed and what its model calls show."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import orjson

from runbook.files import open_regular, replacing
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.lines import read_lines
from runbook.traces.matching import Ledger, Told, merged, named_after, pairs
from runbook.traces.mini import STREAM as MINI
from runbook.traces.mini import trajectory_events
from runbook.traces.reading import StreamReader
from runbook.traces.spool import Spool
from runbook.traces.summary import Tally, TraceSummary
from runbook.traces.untrusted_json import excerpt
from runbook.traces.wire import WireReader

TRACE = "trace.jsonl"


class TraceError(Exception):
    """A trace cannot be read; the message names file, line and mend."""


def write_trace(
    folder: Path,
    *,
    stream: str,
    agent: str,
    started_at: str,
    version: str = "",
    model: str = "",
    prompt: str = "",
    model_free: bool = False,
) -> TraceSummary:
    """Write `folder/trace.jsonl` atomically, in memory that does not grow with lines or outputs.

    Args:
        folder: the attempt's folder, with stdout, stdout.times and model_calls.jsonl as far as there are any.
        stream: name of the parser of stdout; "" or one without a parser for none.
        started_at: UTC, ISO 8601; the zero of every time in the trace and in stdout.times.
        model_free: whether the agent is known to use no model.

    Raises:
        OSError: a file cannot be read or written; no trace was written.
        ValueError: `started_at` is no time.
    """
    zero = datetime.fromisoformat(started_at)
    zero = zero if zero.tzinfo else zero.replace(tzinfo=UTC)
    reader = StreamReader(folder, stream)
    wire = WireReader(folder, stream, zero)
    facts = {
        "agent": agent,
        "version": version,
        "model": model,
        "started_at": zero.isoformat(timespec="milliseconds"),
        "model_free": "yes" if model_free else "",
    }
    with closing(Spool(folder)) as spool:
        for event in _beginning({key: value for key, value in facts.items() if value}, prompt):
            spool.add(event)
        streamed = trajectory_events(folder, zero) if stream == MINI else reader.events()
        from_stream = _take_in(streamed, spool)
        from_wire = _take_in(wire.events(), spool)
        matched = pairs(from_stream.told, from_wire.told)
        aliases = dict(alias for told, other in matched for alias in _merge(told, other, spool))
        tally = _write(spool, folder / TRACE, aliases)
    calls = sum(one.kind is Kind.TOOL_START for one in (*from_stream.told, *from_wire.told))
    twice = sum(one.kind is Kind.TOOL_START for one, _ in matched)
    tokens, tokens_from, cost = tally.usage.told()
    return TraceSummary(
        events=tally.kinds.total(),
        kinds=dict(tally.kinds),
        stream_lines=reader.lines,
        quiet_lines=reader.quiet_lines,
        unknown_lines=dict(reader.unknown),
        wire_calls=wire.calls,
        damaged_wire_lines=wire.damaged_lines,
        tool_calls=calls - twice,
        matched_tool_calls=twice,
        failed_commands=tally.failed_commands,
        tokens=tokens,
        tokens_from=tokens_from,
        cost_usd=cost,
    )


def read_trace(path: Path) -> Iterator[TraceEvent]:
    """The events of a trace, by time.

    Raises:
        TraceError: the file cannot be read or a line is no event.
    """
    try:
        with open_regular(path) as file:
            for number, line in enumerate(read_lines(file), start=1):
                try:
                    yield TraceEvent.model_validate_json(line.data)
                except ValueError as error:
                    raise TraceError(
                        f"{path}, line {number} is no event of a trace: write it again with this version"
                    ) from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}") from error


def _beginning(facts: dict[str, str], prompt: str) -> Iterator[TraceEvent]:
    yield TraceEvent(kind=Kind.LIFECYCLE, source=Source.CONTROLLER, at=0.0, text="attempt", facts=facts)
    if prompt:
        text = excerpt(prompt)
        yield TraceEvent(kind=Kind.MESSAGE, source=Source.CONTROLLER, at=0.0, role="user", text=text)


def _take_in(events: Iterator[TraceEvent], spool: Spool) -> Ledger:
    ledger = Ledger()
    for event in events:
        ledger.note(spool.add(event), event)
    return ledger


def _merge(told: Told, other: Told, spool: Spool) -> Iterator[tuple[str, str]]:
    """Make one event of two; what only the stream tells of a call goes by the wire's id.

    Gives the names under which the stream and the wire know the response.
    """
    known = next(spool.get(number) for number in (other.start, other.end) if number is not None)
    for mine, theirs in ((told.start, other.start), (told.end, other.end)):
        if mine is None:
            continue
        event = spool.get(mine)
        if event.response and known.response:
            yield event.response, known.response
        if theirs is None:
            spool.replace(mine, named_after(event, known))
        else:
            # In the wire's place, which keeps the order of what one response says at the same time.
            spool.replace(theirs, merged(event, spool.get(theirs)))
            spool.drop(mine)


def _write(spool: Spool, path: Path, aliases: dict[str, str]) -> Tally:
    tally = Tally()
    with replacing(path) as file:
        for line in spool.lines():
            told = orjson.loads(line)
            tally.add(told)
            if told.get("response") in aliases:
                told["response"] = aliases[told["response"]]
                file.write(orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE))
            else:
                file.write(line + b"\n")
    return tally
