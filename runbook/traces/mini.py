"""The trajectory file of mini-swe-agent: one JSON document, written over and over while it runs."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.lines import LINE_BYTES
from runbook.traces.streams.protocol import ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import amount, integer, items, mapping, name, parse_object, said, whole
from runbook.untrusted_files import UnreadableFile, read_untrusted

PLACES = ("traj.json", "workspace/traj.json", "workspace/notes/traj.json")
"""Where below the attempt's folder it is looked for."""
STREAM = "mini-swe-agent"


def trajectory_events(folder: Path, started_at: datetime) -> Iterator[TraceEvent]:
    """The events of the first trajectory file found; none where there is none that can be read."""
    document = next(filter(None, (_read(folder, place) for place in PLACES)), None)
    if document is not None:
        yield from _Trajectory(started_at).events(document)


def _read(folder: Path, place: str) -> dict[str, Any] | None:
    try:
        return parse_object(read_untrusted(folder / place, LINE_BYTES, below=folder))
    except UnreadableFile:
        return None


class _Trajectory:
    def __init__(self, started_at: datetime) -> None:
        self._epoch = started_at.timestamp()
        self._calls = ToolCalls()

    def events(self, document: Mapping[str, Any]) -> Iterator[TraceEvent]:
        for message in map(mapping, items(document.get("messages"))):
            extra = mapping(message.get("extra"))
            moment = amount(extra.get("timestamp"))
            at = None if moment is None else max(0.0, moment - self._epoch)
            yield from self._message(message, extra, at)

    def _message(
        self, message: Mapping[str, Any], extra: Mapping[str, Any], at: float | None
    ) -> Iterator[TraceEvent]:
        text = said(message.get("content"))
        match message.get("role"):
            case "system" | "user" as role:
                yield text_event(Kind.MESSAGE, text, at, role=role)
            case "assistant":
                yield from self._answer(message, extra, at)
            case "tool":
                yield self._result(message, extra, at)
            case "exit":
                status = name(extra.get("exit_status"))
                if status not in ("Submitted", "LimitsExceeded"):
                    yield text_event(Kind.ERROR, text or status, at)
                yield lifecycle("exit", at, status=status)

    def _answer(
        self, message: Mapping[str, Any], extra: Mapping[str, Any], at: float | None
    ) -> Iterator[TraceEvent]:
        response = mapping(extra.get("response"))
        identity = name(response.get("id"))
        if reasoning := said(message.get("reasoning_content")):
            yield text_event(Kind.REASONING, reasoning, at, response=identity)
        if text := said(message.get("content")):
            yield text_event(Kind.MESSAGE, text, at, role="assistant", response=identity)
        for action in map(mapping, items(extra.get("actions"))):
            command = action.get("command")
            yield self._calls.started(action.get("tool_call_id"), "bash", command, at, response=identity)
        if told := mapping(response.get("usage")):
            yield TraceEvent(
                kind=Kind.USAGE,
                source=Source.STREAM,
                at=at,
                response=identity,
                scope="call",
                tokens=_usage(told),
                model=name(response.get("model")),
            )

    def _result(self, message: Mapping[str, Any], extra: Mapping[str, Any], at: float | None) -> TraceEvent:
        refused = said(extra.get("exception_info"))
        code = integer(extra.get("returncode"))
        return self._calls.ended(
            message.get("tool_call_id"),
            said(extra.get("raw_output")) or refused,
            at,
            tool="bash",
            exit_code=None if refused else code,
            failed=bool(code) or bool(refused),
        )


def _usage(told: Mapping[str, Any]) -> Usage:
    """As Chat Completions tells it: cached tokens are part of the prompt, reasoning of the completion."""
    prompt = whole(told.get("prompt_tokens"))
    read = whole(mapping(told.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(
        fresh_input=None if prompt is None else max(0, prompt - (read or 0)),
        cache_read=read,
        output=whole(told.get("completion_tokens")),
        reasoning=whole(mapping(told.get("completion_tokens_details")).get("reasoning_tokens")),
    )
