"""Events from the agent's own output."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from runbook.files import open_regular
from runbook.traces.arrivals import Arrivals
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.lines import LINE_BYTES, Line, read_lines
from runbook.traces.streams import STREAMS, StreamParser
from runbook.traces.untrusted_json import RAW_CHARACTERS, excerpt, parse_object

STDOUT = "stdout"
STAMPS = "stdout.times"


class StreamReader:
    """Reads one attempt's stdout. Raises for nothing that is in it."""

    def __init__(self, folder: Path, stream: str, *, line_bytes: int = LINE_BYTES) -> None:
        """`stream` names a parser of `STREAMS`; a name without a parser has no events."""
        self._folder = folder
        self._stream = stream
        self._line_bytes = line_bytes
        self._last_error = ""
        self.lines = 0
        self.quiet_lines = 0
        """Lines that repeat what others tell, or tell nothing."""
        self.unknown: Counter[str] = Counter()
        """Lines that no rule reads, by their `type`; "" for those that are no JSON object."""

    def events(self) -> Iterator[TraceEvent]:
        """The events in the order of the stream. Raises OSError where stdout cannot be read."""
        path = self._folder / STDOUT
        if self._stream not in STREAMS or not path.exists():
            return
        parser = STREAMS[self._stream]()
        arrivals = Arrivals(self._folder / STAMPS)
        try:
            with open_regular(path) as file:
                for line in read_lines(file, self._line_bytes):
                    yield from self._without_repeats(self._line(line, parser, arrivals.at(line.end)))
            yield from parser.finish()
        finally:
            arrivals.close()

    def _line(self, line: Line, parser: StreamParser, at: float | None) -> list[TraceEvent]:
        self.lines += 1
        if not line.data.strip():
            self.quiet_lines += 1
            return []
        record = parse_object(line.data) if line.whole else None
        events = None if record is None else parser.events(record, at)
        if events is None:
            kind = "" if record is None else record.get("type")
            self.unknown[excerpt(kind, 80) if isinstance(kind, str) else ""] += 1
            raw = line.data[: 4 * RAW_CHARACTERS].decode("utf-8", "replace")
            return [
                TraceEvent(kind=Kind.UNKNOWN, source=Source.STREAM, at=at, raw=excerpt(raw, RAW_CHARACTERS))
            ]
        if not events:
            self.quiet_lines += 1
        return events

    def _without_repeats(self, events: list[TraceEvent]) -> Iterator[TraceEvent]:
        """An error that is told twice in a row, as a message and as an end, is one error."""
        for event in events:
            if event.kind is Kind.ERROR:
                if event.text == self._last_error and event.text:
                    continue
                self._last_error = event.text
            elif event.kind not in (Kind.LIFECYCLE, Kind.USAGE):
                self._last_error = ""
            yield event
