"""Parsers of what agents print, by the name that an adapter gives."""

from collections.abc import Callable

from runbook.traces.streams.codex import CodexStream
from runbook.traces.streams.gemini import GeminiStream
from runbook.traces.streams.messages import CLAUDE, QWEN, MessageStream
from runbook.traces.streams.opencode import OpencodeStream
from runbook.traces.streams.pi import PiStream
from runbook.traces.streams.protocol import StreamParser
from runbook.traces.streams.react import ReactStream

STREAMS: dict[str, Callable[[], StreamParser]] = {
    "codex": CodexStream,
    "claude": lambda: MessageStream(CLAUDE),
    "claude-code": lambda: MessageStream(CLAUDE),
    "opencode": OpencodeStream,
    "gemini": GeminiStream,
    "gemini-cli": GeminiStream,
    "qwen": lambda: MessageStream(QWEN),
    "qwen-code": lambda: MessageStream(QWEN),
    "pi": PiStream,
    "react": ReactStream,
}
"""`mini-swe-agent` prints nothing to parse: its trajectory file is read instead."""

__all__ = ["STREAMS", "StreamParser"]
