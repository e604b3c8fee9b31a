"""`claude` and `qwen` in stream-json: messages made of blocks, in the manner of Anthropic's API."""

from dataclasses import dataclass

from runbook.gateway.records import Usage
from runbook.traces.events import Kind, Source, TraceEvent
from runbook.traces.exit_codes import told_exit_code
from runbook.traces.streams.protocol import Record, ToolCalls, lifecycle, text_event
from runbook.traces.untrusted_json import amount, integer, items, mapping, name, said, whole

_API_ERROR = "[API Error:"


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where the two differ."""

    cached_in_input: bool
    """Whether `input_tokens` holds what was read from the cache."""
    usage_per_message: bool
    """Whether the last message of a response tells the usage of its call; else all tell a first guess."""
    shell_tool: str
    """The tool whose success means exit code 0; "" where success says nothing."""


CLAUDE = Dialect(cached_in_input=False, usage_per_message=False, shell_tool="Bash")
QWEN = Dialect(cached_in_input=True, usage_per_message=True, shell_tool="")


class MessageStream:
    """Every assistant record holds one block or more; results come in user records."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._calls = ToolCalls()
        self._responses = 1

    def events(self, record: Record, at: float | None) -> list[TraceEvent] | None:
        match record.get("type"):
            case "system":
                return self._system(record, at)
            case "assistant":
                return self._assistant(mapping(record.get("message")), at)
            case "user":
                return self._user(mapping(record.get("message")), at)
            case "result":
                return self._result(record, at)
            case "stream_event":
                return []
        return None

    def finish(self) -> list[TraceEvent]:
        return []

    def _system(self, record: Record, at: float | None) -> list[TraceEvent]:
        match record.get("subtype"):
            case "thinking_tokens":
                return []
            case "api_retry":
                reason = record.get("error")
                return [text_event(Kind.RETRY, reason, at, status=integer(record.get("error_status")))]
        facts = {"session": record.get("session_id"), "model": record.get("model")}
        version = record.get("qwen_code_version") or record.get("claude_code_version")
        return [lifecycle(name(record.get("subtype")) or "system", at, **facts, version=version)]

    def _assistant(self, message: Record, at: float | None) -> list[TraceEvent]:
        response = self._response(message)
        synthetic = message.get("model") == "<synthetic>"
        events = [self._block(mapping(block), response, synthetic, at) for block in _blocks(message)]
        usage = self._usage(message.get("usage"))
        if self._dialect.usage_per_message and usage and (usage.output or usage.fresh_input):
            self._responses += 1
            events.append(
                TraceEvent(
                    kind=Kind.USAGE,
                    source=Source.STREAM,
                    at=at,
                    response=response,
                    scope="call",
                    tokens=usage,
                    model=name(message.get("model")),
                )
            )
        return events

    def _response(self, message: Record) -> str:
        """Where every message has an id of its own, a response ends with the message that tells usage."""
        return str(self._responses) if self._dialect.usage_per_message else name(message.get("id"))

    def _block(self, block: Record, response: str, synthetic: bool, at: float | None) -> TraceEvent:
        match block.get("type"):
            case "thinking" | "redacted_thinking":
                return text_event(Kind.REASONING, block.get("thinking"), at, response=response)
            case "text":
                text = block.get("text")
                if synthetic or (isinstance(text, str) and text.startswith(_API_ERROR)):
                    return text_event(Kind.ERROR, text, at)
                return text_event(Kind.MESSAGE, text, at, role="assistant", response=response)
            case "tool_use":
                asked = block.get("input")
                return self._calls.started(block.get("id"), block.get("name"), asked, at, response=response)
        return lifecycle("block", at, type=block.get("type"))

    def _user(self, message: Record, at: float | None) -> list[TraceEvent]:
        events = []
        for block in map(mapping, _blocks(message)):
            if block.get("type") == "tool_result":
                events.append(self._tool_result(block, at))
            elif isinstance(block.get("text"), str):
                events.append(text_event(Kind.MESSAGE, block["text"], at, role="user"))
        return events

    def _tool_result(self, block: Record, at: float | None) -> TraceEvent:
        told = block.get("is_error")
        failed = told if isinstance(told, bool) else None
        text = said(block.get("content"))
        end = self._calls.ended(block.get("tool_use_id"), text, at, failed=failed)
        if not self._dialect.shell_tool or end.tool != self._dialect.shell_tool:
            return end
        code = told_exit_code(text, "claude") if failed else 0
        return end.model_copy(update={"exit_code": code})

    def _result(self, record: Record, at: float | None) -> list[TraceEvent]:
        text = record.get("result")
        events = []
        if record.get("is_error") is True or (isinstance(text, str) and text.startswith(_API_ERROR)):
            why = text or record.get("subtype")
            events.append(text_event(Kind.ERROR, why, at, status=integer(record.get("api_error_status"))))
        events.append(
            TraceEvent(
                kind=Kind.USAGE,
                source=Source.STREAM,
                at=at,
                scope="run",
                tokens=self._usage(record.get("usage")),
                cost_usd=amount(record.get("total_cost_usd")),
            )
        )
        reason = record.get("terminal_reason")
        return [*events, lifecycle("result", at, subtype=record.get("subtype"), reason=reason)]

    def _usage(self, value: object) -> Usage | None:
        told = mapping(value)
        if not told:
            return None
        given, read = whole(told.get("input_tokens")), whole(told.get("cache_read_input_tokens"))
        inside = (read or 0) if self._dialect.cached_in_input else 0
        return Usage(
            fresh_input=None if given is None else max(0, given - inside),
            cache_read=read,
            cache_write=whole(told.get("cache_creation_input_tokens")),
            output=whole(told.get("output_tokens")),
        )


def _blocks(message: Record) -> list[object]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
