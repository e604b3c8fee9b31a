"""An attempt's trace as a reader follows it: its commands with their durations, however long it is."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from evals.report.texts import Excerpt, Texts
from evals.traces.classes import classify
from runbook.traces import Kind, Source, TraceEvent

_PENDING = 1000
_BARS = 300
_LAST_SHARE = 3
"""A third of what is kept is the end of the trace."""

What = Literal["command", "said", "thought", "error", "retry"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing an agent did. Times are seconds from the attempt's start."""

    what: What
    at: float | None
    name: str
    """Of the tool; "" for what is none."""
    text: Excerpt
    kind: str = ""
    """What the command was for, a class of `runbook traces`."""
    duration: float | None = None
    exit_code: int | None = None
    failed: bool | None = None
    ended: bool = True
    truncated: bool | None = None
    output: Excerpt | None = None
    output_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that took time, as shares of the attempt: 0..1."""

    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """An attempt's steps, the first and the last where there are many."""

    first: list[Step]
    last: list[Step]
    left_out: int
    """Steps between the first and the last."""
    events: int
    unknown: int
    """Events that no rule reads."""
    seconds: float
    model: tuple[Bar, ...]
    tools: tuple[Bar, ...]


def read_timeline(events: Iterable[TraceEvent], texts: Texts, *, steps: int, step_bytes: int) -> Timeline:
    """Follow a trace in one pass, in memory that does not grow with it."""
    reader = _Reader(texts, steps, step_bytes)
    for event in events:
        reader.take(event)
    return reader.finished()


@dataclass(slots=True)
class _Kept:
    """The events that a step is made of."""

    begun: TraceEvent
    ended: TraceEvent | None = None


class _Reader:
    def __init__(self, texts: Texts, steps: int, step_bytes: int) -> None:
        self._texts = texts
        self._bytes = step_bytes
        self._last: deque[_Kept] = deque(maxlen=max(1, steps // _LAST_SHARE))
        self._first: list[_Kept] = []
        self._most_first = max(1, steps - (self._last.maxlen or 0))
        self._pending: dict[str, deque[_Kept]] = {}
        self._open = 0
        self._all = 0
        self._seconds = 0.0
        self._kinds: Counter[Kind] = Counter()
        self._model: list[tuple[float, float]] = []
        self._tools: list[tuple[float, float]] = []

    def take(self, event: TraceEvent) -> None:
        self._kinds[event.kind] += 1
        if event.at is not None:
            self._seconds = max(self._seconds, event.at)
        match event.kind:
            case Kind.TOOL_START:
                self._start(event)
            case Kind.TOOL_END:
                self._end(event)
            case Kind.MESSAGE if event.role != "user" and event.text.strip():
                self._add(_Kept(event))
            case Kind.REASONING if event.text.strip():
                self._add(_Kept(event))
            case Kind.ERROR | Kind.RETRY:
                self._add(_Kept(event))
            case Kind.USAGE if event.source is not Source.STREAM:
                _note(self._model, event)

    def finished(self) -> Timeline:
        return Timeline(
            first=[self._step(kept) for kept in self._first],
            last=[self._step(kept) for kept in self._last],
            left_out=self._all - len(self._first) - len(self._last),
            events=self._kinds.total(),
            unknown=self._kinds[Kind.UNKNOWN],
            seconds=self._seconds,
            model=_bars(self._model, self._seconds),
            tools=_bars(self._tools, self._seconds),
        )

    def _start(self, event: TraceEvent) -> None:
        kept = self._add(_Kept(event))
        if self._open < _PENDING:
            self._pending.setdefault(event.call_id, deque()).append(kept)
            self._open += 1

    def _end(self, event: TraceEvent) -> None:
        waiting = self._pending.get(event.call_id)
        if waiting:
            kept = waiting.popleft()
            self._open -= 1
            if not waiting:
                del self._pending[event.call_id]
        else:
            kept = self._add(_Kept(event))
        kept.ended = event
        _note(self._tools, event)

    def _add(self, kept: _Kept) -> _Kept:
        self._all += 1
        (self._first if len(self._first) < self._most_first else self._last).append(kept)
        return kept

    def _step(self, kept: _Kept) -> Step:
        begun, ended = kept.begun, kept.ended
        if begun.kind not in (Kind.TOOL_START, Kind.TOOL_END):
            return Step(_WHAT[begun.kind], begun.at, "", self._texts.excerpt(begun.text, self._bytes))
        told = ended or begun
        return Step(
            what="command",
            at=begun.at,
            name=told.tool,
            text=self._texts.excerpt(told.command or told.arguments, self._bytes),
            kind=classify(told.tool, told.command, told.arguments).kind,
            duration=told.duration,
            exit_code=told.exit_code,
            failed=told.failed,
            ended=ended is not None,
            truncated=told.truncated,
            output=self._texts.excerpt(told.output, self._bytes) if told.output else None,
            output_bytes=told.output_bytes if told.shown_bytes is None else told.shown_bytes,
        )


_WHAT: Mapping[Kind, What] = {
    Kind.MESSAGE: "said",
    Kind.REASONING: "thought",
    Kind.ERROR: "error",
    Kind.RETRY: "retry",
}


def _note(spans: list[tuple[float, float]], event: TraceEvent) -> None:
    if event.at is not None and event.duration is not None:
        spans.append((max(0.0, event.at - event.duration), event.at))


def _bars(spans: list[tuple[float, float]], seconds: float) -> tuple[Bar, ...]:
    """The spans as shares, those drawn as one that a reader could not tell apart."""
    joined: list[list[float]] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] < seconds / _BARS:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return tuple(Bar(start / seconds, (end - start) / seconds) for start, end in joined) if seconds else ()
