"""Which events of the stream and of the wire tell of the same thing."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from runbook.traces.events import Kind, TraceEvent

FRAME_BYTES = 1024
"""What agents put around an output; a result that is shorter by more was cut."""


@dataclass(slots=True)
class Told:
    """A tool call, or something said, as one source tells it: where its events lie, and what tells it apart.

    It holds a few numbers only, so that any amount of events can be matched.
    """

    kind: Kind
    """TOOL_START for a tool call, MESSAGE or REASONING for what was said."""
    call_id: str
    content: int
    """Hash of what was asked for or said."""
    start: int | None = None
    """Number of the call's start, or of what was said."""
    end: int | None = None


class Ledger:
    """What one source told, in its order."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._open: defaultdict[str, deque[Told]] = defaultdict(deque)

    def note(self, number: int, event: TraceEvent) -> None:
        """Take an event down; those that only one source can know are left out."""
        match event.kind:
            case Kind.TOOL_START:
                call = Told(Kind.TOOL_START, event.call_id, _asked(event), start=number)
                self._open[event.call_id].append(call)
                self.told.append(call)
            case Kind.TOOL_END:
                self._end(number, event)
            case Kind.MESSAGE | Kind.REASONING if event.role in ("", "assistant"):
                content = hash("".join(event.text.split()))
                self.told.append(Told(event.kind, "", content, start=number))

    def _end(self, number: int, event: TraceEvent) -> None:
        waiting = self._open.get(event.call_id)
        if not waiting:
            self.told.append(Told(Kind.TOOL_START, event.call_id, _asked(event), end=number))
            return
        waiting.popleft().end = number
        if not waiting:
            del self._open[event.call_id]


def pairs(stream: Sequence[Told], wire: Sequence[Told]) -> list[tuple[Told, Told]]:
    """What belongs together, the stream's first.

    The k-th is matched with the k-th of the same id and content, then of the same id, since ids can repeat
    within an attempt, then of the same content, since some agents give calls ids of their own.
    """
    found: list[tuple[Told, Told]] = []
    left, right = list(stream), list(wire)
    for key in (_id_and_content, _id, _content):
        more, left, right = _matched(left, right, key)
        found += more
    return found


def _asked(event: TraceEvent) -> int:
    return hash(event.command.strip() or event.arguments or event.tool)


def _id_and_content(one: Told) -> Hashable | None:
    return (one.call_id, one.content) if one.call_id else None


def _id(one: Told) -> Hashable | None:
    return one.call_id or None


def _content(one: Told) -> Hashable | None:
    return (one.kind, one.content)


def _matched(
    stream: list[Told], wire: list[Told], key: Callable[[Told], Hashable | None]
) -> tuple[list[tuple[Told, Told]], list[Told], list[Told]]:
    waiting: defaultdict[Hashable, deque[Told]] = defaultdict(deque)
    for one in wire:
        if (its := key(one)) is not None:
            waiting[its].append(one)
    found: list[tuple[Told, Told]] = []
    alone = []
    for one in stream:
        its = key(one)
        if its is not None and waiting.get(its):
            found.append((one, waiting[its].popleft()))
        else:
            alone.append(one)
    taken = {id(other) for _, other in found}
    return found, alone, [other for other in wire if id(other) not in taken]


def merged(stream: TraceEvent, wire: TraceEvent) -> TraceEvent:
    """One event that says what both say; where they differ, the stream was nearer.

    It happened when it was first seen: agents hold back output, for example until a command has ended.
    """
    told = wire.model_dump(exclude_defaults=True)
    told |= stream.model_dump(exclude_defaults=True)
    told |= {
        "source": "both",
        "response": wire.response or stream.response,
        "call_id": wire.call_id or stream.call_id,
        "duration": stream.duration or wire.duration,
        "at": min((at for at in (stream.at, wire.at) if at is not None), default=None),
    }
    if stream.output_bytes is not None and wire.shown_bytes is not None:
        told.setdefault("truncated", wire.shown_bytes + FRAME_BYTES < stream.output_bytes)
    if told.get("exit_code"):
        told["failed"] = True  # some agents call every command that ran a success
    return TraceEvent.model_validate(told)


def named_after(event: TraceEvent, wire: TraceEvent) -> TraceEvent:
    """An event that only the stream tells, of a call that the wire knows by another id."""
    return event.model_copy(
        update={"call_id": wire.call_id or event.call_id, "response": wire.response or event.response}
    )
