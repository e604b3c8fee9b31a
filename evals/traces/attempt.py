"""One attempt's trace in figures: its calls by class and round, what it read, and where its time went."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from evals.traces.addresses import Names, State, listed_states, opened_states
from evals.traces.classes import classify
from runbook.gateway.records import Usage
from runbook.traces import Kind, Source, TraceEvent
from runbook.traces.summary import UsageOfSources

FIRST_ROUNDS = 8


class AttemptFigures(BaseModel):
    """What a trace says of one attempt. None where the trace does not tell."""

    model_config = ConfigDict(extra="forbid")

    calls: int = 0
    classes: dict[str, int] = {}
    """Tool calls by class."""
    rounds: int = 0
    """Model responses with at least one tool call."""
    first_rounds: list[dict[str, int]] = []
    """Calls by class in each of the first 8 rounds."""
    repeated: int = 0
    """Calls that ask for what an earlier call asked for."""
    failed: int = 0
    truncated: int = 0
    """Calls of whose output the model saw less than there was."""
    bytes_read: int = 0
    """Bytes of results that the model was sent; where the wire is not on record, that the stream holds."""
    model_seconds: float | None = None
    """Wall time in which at least one model call was open."""
    tool_seconds: float | None = None
    """Wall time in which at least one tool call ran and no model call was open."""
    seconds: float | None = None
    """Up to the last event."""
    tokens: Usage | None = None
    cost_usd: float | None = None
    errors: int = 0
    retries: int = 0
    unknown_events: int = 0


@dataclass(slots=True)
class AttemptReading:
    """The figures, and the states that the attempt came by."""

    figures: AttemptFigures
    opened: dict[State, float | None] = field(default_factory=dict)
    """When each state was first asked for, seconds from the attempt's start."""
    listed: set[State] = field(default_factory=set)
    """States that a result named; results are excerpts, so there can be more."""


def read_attempt(events: Iterable[TraceEvent], names: Names) -> AttemptReading:
    """Read a trace in one pass. What is kept grows with distinct commands and states, not with events."""
    reader = _Reader(names)
    for event in events:
        reader.take(event)
    return reader.finished()


class _Reader:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._figures = AttemptFigures()
        self._classes: Counter[str] = Counter()
        self._kinds: Counter[Kind] = Counter()
        self._asked: Counter[int] = Counter()
        self._open: Counter[str] = Counter()
        self._rounds: dict[str, int] = {}
        self._first: list[Counter[str]] = []
        self._untold = 0
        self._wired = False
        self._printed_bytes = 0
        self._ended = True
        self._usage = UsageOfSources()
        self._model: list[tuple[float, float]] = []
        self._tools: list[tuple[float, float]] = []
        self._opened: dict[State, float | None] = {}
        self._listed: set[State] = set()
        self._last: float | None = None

    def take(self, event: TraceEvent) -> None:
        self._kinds[event.kind] += 1
        self._usage.add(event)
        self._wired |= event.source in (Source.WIRE, Source.BOTH)
        if event.at is not None:
            self._last = event.at if self._last is None else max(self._last, event.at)
        match event.kind:
            case Kind.TOOL_START:
                self._open[event.call_id] += 1
                self._call(event)
            case Kind.TOOL_END:
                self._end(event)
            case Kind.USAGE if event.source is not Source.STREAM:
                _add(self._model, event)

    def finished(self) -> AttemptReading:
        tokens, _, cost = self._usage.told()
        model, either = _union(self._model), _union(self._model + self._tools)
        figures = self._figures.model_copy(
            update={
                "calls": self._classes.total(),
                "classes": dict(self._classes),
                "rounds": len(self._rounds),
                "bytes_read": self._figures.bytes_read + (0 if self._wired else self._printed_bytes),
                "first_rounds": [dict(one) for one in self._first],
                "repeated": sum(times - 1 for times in self._asked.values()),
                "model_seconds": model if self._model else None,
                "tool_seconds": either - model if self._tools else None,
                "seconds": self._last,
                "tokens": tokens,
                "cost_usd": cost,
                "errors": self._kinds[Kind.ERROR],
                "retries": self._kinds[Kind.RETRY],
                "unknown_events": self._kinds[Kind.UNKNOWN],
            }
        )
        return AttemptReading(figures, self._opened, self._listed)

    def _call(self, event: TraceEvent) -> None:
        found = classify(event.tool, event.command, event.arguments)
        self._classes[found.kind] += 1
        self._asked[hash((event.tool, " ".join(event.command.split()), event.arguments))] += 1
        for state in opened_states(found.commands, event.arguments, self._names):
            self._opened.setdefault(state, event.at)
        number = self._round(event)
        if number <= FIRST_ROUNDS:
            while len(self._first) < number:
                self._first.append(Counter())
            self._first[number - 1][found.kind] += 1
        self._ended = False

    def _round(self, event: TraceEvent) -> int:
        """The round of a call: its response's; where that is not told, a round ends with its first result."""
        if event.response:
            key = event.response
        else:
            self._untold += self._ended
            key = f"untold {self._untold}"
        return self._rounds.setdefault(key, len(self._rounds) + 1)

    def _end(self, event: TraceEvent) -> None:
        if self._open[event.call_id]:
            self._open[event.call_id] -= 1
        else:
            self._call(event)
        self._ended = True
        if event.shown_bytes is None:  # not sent to the model, or nobody recorded what was
            self._printed_bytes += event.output_bytes or 0
        self._figures.bytes_read += event.shown_bytes or 0
        self._figures.truncated += bool(event.truncated)
        self._figures.failed += bool(event.failed)
        self._listed |= listed_states(event.output, self._names)
        _add(self._tools, event)


def _add(spans: list[tuple[float, float]], event: TraceEvent) -> None:
    if event.at is not None and event.duration is not None:
        spans.append((max(0.0, event.at - event.duration), event.at))


def _union(spans: list[tuple[float, float]]) -> float:
    """Seconds that at least one span covers."""
    total, end = 0.0, 0.0
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total
