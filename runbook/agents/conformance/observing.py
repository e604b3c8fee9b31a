"""What a case leaves to look at: the attempt's record and files, and what is still alive."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runbook.gateway import ModelCall, load_calls
from runbook.memory import AttemptRecord
from runbook.traces import Kind, TraceError, TraceEvent, read_trace

TRACE = "trace.jsonl"


@dataclass(frozen=True, slots=True)
class Observed:
    """One attempt, once it is over."""

    record: AttemptRecord
    folder: Path
    """The attempt's folder."""
    calls: list[ModelCall]
    """Generations that were asked for, as the wire saw them."""
    trace: list[TraceEvent]
    wall_seconds: float
    """The deadline that was set."""
    alive: list[str]
    """What of the attempt still ran when it was over."""
    haystack_whole: bool
    """Whether the haystack is as it was before."""
    stream: str = ""
    """Name of the parser of the agent's output; "" where the trace comes from the wire alone."""

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def ends(self, command: str) -> list[TraceEvent]:
        """The ends of tool calls whose command contains a text."""
        return [event for event in self.trace if event.kind is Kind.TOOL_END and command in event.command]

    def results(self) -> str:
        """All that tools gave, as the model was sent it."""
        return "\n".join(result.text for call in self.calls for result in call.tool_results)


def observe(
    record: AttemptRecord,
    folder: Path,
    *,
    wall_seconds: float,
    alive: list[str],
    haystack_whole: bool,
    stream: str,
) -> Observed:
    """Read what an attempt left in its folder."""
    try:
        trace = list(read_trace(folder / TRACE))
    except TraceError:
        trace = []
    return Observed(
        record=record,
        folder=folder,
        calls=[call for call in load_calls(folder) if call.wire is not None],
        trace=trace,
        wall_seconds=wall_seconds,
        alive=alive,
        haystack_whole=haystack_whole,
        stream=stream,
    )


def processes_with(word: str) -> list[str]:
    """The command lines of this host's processes that have `word` among their arguments."""
    return [line for line in _command_lines() if word in line.split(" ")]


def _command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:  # it ended
            continue
