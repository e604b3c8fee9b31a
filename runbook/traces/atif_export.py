"""A trace as an ATIF document: one step a message to the agent, and one a model response with its results."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from runbook.files import open_regular
from runbook.gateway.records import Usage
from runbook.traces.atif import (
    AtifAgent,
    AtifFinalMetrics,
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
)
from runbook.traces.commands import parsed_arguments
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.reading import STDOUT
from runbook.traces.summary import UsageOfSources
from runbook.traces.untrusted_json import OUTPUT_CHARACTERS, excerpt
from runbook.traces.writing import TRACE, read_trace

_NOTES = "Long messages and outputs are excerpts. Times are those at which output arrived."


def to_atif(folder: Path) -> dict[str, Any]:
    """The trace of the attempt in `folder` as an ATIF document, checked against the format's rules.

    Raises:
        TraceError: the trace cannot be read.
    """
    usage, steps, facts = UsageOfSources(), _Steps(), dict[str, str]()
    for event in read_trace(folder / TRACE):
        usage.add(event)
        if event.kind is Kind.LIFECYCLE and event.source is Source.CONTROLLER:
            facts = event.facts
            steps.begin(facts)
        else:
            steps.take(event)
    told = steps.finished(_printed(folder) if facts.get("model_free") == "yes" else "")
    tokens, _, cost = usage.told()
    document = AtifTrajectory(
        session_id=f"{folder.resolve().parent.parent.name or 'attempt'}-{folder.resolve().name}",
        agent=AtifAgent(
            name=facts.get("agent") or "unknown",
            version=facts.get("version") or "unknown",
            model_name=facts.get("model") or None,
        ),
        steps=told,
        notes=_NOTES,
        final_metrics=_final(tokens, cost, len(told)),
    )
    return document.model_dump(mode="json", exclude_none=True)


@dataclass(slots=True)
class _Turn:
    """A step under way."""

    response: str
    at: float | None
    texts: list[str] = field(default_factory=list)
    reasonings: list[str] = field(default_factory=list)
    calls: list[AtifToolCall] = field(default_factory=list)
    results: list[AtifResult] = field(default_factory=list)
    metrics: AtifMetrics | None = None
    model: str = ""
    from_wire: bool = False


class _Steps:
    """Puts events together into steps."""

    def __init__(self) -> None:
        self._done: list[AtifStep | _Turn] = []
        self._turns: dict[str, _Turn] = {}
        self._current: _Turn | None = None
        self._open: defaultdict[str, deque[tuple[_Turn, str]]] = defaultdict(deque)
        self._used: set[str] = set()
        self._prompts: set[tuple[str, str]] = set()
        self._numbers = count(1)
        self._zero: datetime | None = None
        self._model_free = False

    def begin(self, facts: dict[str, str]) -> None:
        """Take what the controller says of the attempt."""
        self._model_free = facts.get("model_free") == "yes"
        if "started_at" in facts:
            self._zero = datetime.fromisoformat(facts["started_at"])

    def take(self, event: TraceEvent) -> None:
        match event.kind:
            case Kind.MESSAGE if event.role in ("user", "system"):
                self._given(event)
            case Kind.ERROR:
                self._done.append(self._plain("system", event))
            case Kind.MESSAGE:
                self._turn(event).texts.append(event.text)
            case Kind.REASONING:
                self._turn(event).reasonings.append(event.text)
            case Kind.TOOL_START:
                self._call(self._turn(event), event)
            case Kind.TOOL_END:
                self._result(event)
            case Kind.USAGE if event.scope == "call" and event.response and event.tokens:
                self._meter(event)

    def _given(self, event: TraceEvent) -> None:
        """A message to the agent; that the agent repeats its prompt is no second one."""
        if (event.role, event.text.strip()) in self._prompts:
            return
        self._prompts.add((event.role, event.text.strip()))
        self._current = None
        self._done.append(self._plain("user" if event.role == "user" else "system", event))

    def finished(self, printed: str) -> list[AtifStep]:
        """The steps, numbered; an attempt of whose agent nothing was told still has one.

        `printed` is all that there is to say of an agent that uses no model.
        """
        done = self._done
        if not done or (self._model_free and not any(isinstance(one, _Turn) for one in done)):
            done = [*done, _Turn("", None, texts=[printed] if printed else [])]
        return [
            (self._step(one) if isinstance(one, _Turn) else one).model_copy(update={"step_id": number})
            for number, one in enumerate(done, start=1)
        ]

    def _turn(self, event: TraceEvent) -> _Turn:
        """The turn of the event's response; without one, a turn ends with the first result."""
        if event.response:
            turn = self._turns.get(event.response)
            if turn is None:
                turn = self._turns[event.response] = self._new(event)
        elif self._current is None or self._current.results or self._current.response:
            turn = self._new(event)
        else:
            turn = self._current
        self._current = turn
        return turn

    def _new(self, event: TraceEvent) -> _Turn:
        turn = _Turn(event.response, event.at)
        self._done.append(turn)
        return turn

    def _call(self, turn: _Turn, event: TraceEvent) -> None:
        identity = event.call_id or "call"
        while identity in self._used:
            identity = f"{event.call_id or 'call'}-{next(self._numbers)}"
        self._used.add(identity)
        arguments = {"command": event.command} if event.command else parsed_arguments(event.arguments)
        turn.calls.append(
            AtifToolCall(
                tool_call_id=identity,
                function_name=event.tool or "unknown",
                arguments=arguments or ({"input": event.arguments} if event.arguments else {}),
            )
        )
        self._open[event.call_id].append((turn, identity))

    def _result(self, event: TraceEvent) -> None:
        if not self._open[event.call_id]:
            self._call(self._turn(event), event)
        turn, identity = self._open[event.call_id].popleft()
        extra = {
            "exit_code": event.exit_code,
            "duration_seconds": event.duration,
            "output_bytes": event.output_bytes if event.shown_bytes is None else event.shown_bytes,
        }
        told = {key: value for key, value in extra.items() if value is not None}
        result = AtifResult(source_call_id=identity, content=event.output, extra=told or None)
        turn.results.append(result)

    def _meter(self, event: TraceEvent) -> None:
        """The wire's figures are believed before the stream's."""
        turn = self._turn(event)
        if turn.metrics is None or event.source is Source.WIRE:
            turn.metrics = _metrics(event)
            turn.model = event.model

    def _plain(self, source: str, event: TraceEvent) -> AtifStep:
        return AtifStep.model_validate(
            {"step_id": 1, "source": source, "message": event.text, "timestamp": self._time(event.at)}
        )

    def _step(self, turn: _Turn) -> AtifStep:
        counted = 0 if self._model_free else (1 if turn.response else None)
        return AtifStep(
            step_id=1,
            timestamp=self._time(turn.at),
            source="agent",
            message="\n".join(turn.texts),
            model_name=turn.model or None,
            reasoning_content="\n".join(turn.reasonings) or None,
            tool_calls=turn.calls or None,
            observation=AtifObservation(results=turn.results) if turn.results else None,
            metrics=None if self._model_free else turn.metrics,
            llm_call_count=counted,
        )

    def _time(self, at: float | None) -> str | None:
        if self._zero is None or at is None:
            return None
        return (self._zero + timedelta(seconds=at)).isoformat(timespec="milliseconds")


def _printed(folder: Path) -> str:
    try:
        with open_regular(folder / STDOUT) as file:
            return excerpt(
                file.read(4 * OUTPUT_CHARACTERS).decode("utf-8", "replace").strip(), OUTPUT_CHARACTERS
            )
    except OSError:
        return ""


def _prompt_tokens(tokens: Usage) -> int | None:
    parts = [tokens.fresh_input, tokens.cache_read, tokens.cache_write]
    return None if tokens.fresh_input is None else sum(part or 0 for part in parts)


def _metrics(event: TraceEvent) -> AtifMetrics | None:
    tokens = event.tokens
    if tokens is None:
        return None
    extra = {"reasoning_tokens": tokens.reasoning} if tokens.reasoning is not None else None
    return AtifMetrics(
        prompt_tokens=_prompt_tokens(tokens),
        completion_tokens=tokens.output,
        cached_tokens=tokens.cache_read,
        cost_usd=event.cost_usd,
        extra=extra,
    )


def _final(tokens: Usage | None, cost: float | None, steps: int) -> AtifFinalMetrics:
    return AtifFinalMetrics(
        total_prompt_tokens=_prompt_tokens(tokens) if tokens else None,
        total_completion_tokens=tokens.output if tokens else None,
        total_cached_tokens=tokens.cache_read if tokens else None,
        total_cost_usd=cost,
        total_steps=steps,
    )
