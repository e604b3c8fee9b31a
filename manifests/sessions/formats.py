"""The agents whose sessions can be imported, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .claude_code import ClaudeCodeReader, is_claude_code
from .codex import CodexReader, is_codex
from .pictures import Pictures
from .recording import Recording
from .texts import Scrubber


class Reader(Protocol):
    """Takes the lines of one session file and makes trajectories of them."""

    marks: set[int]

    def take(self, line: dict[str, Any]) -> bool:
        """Take one line; False where it is of no known kind."""

    def recordings(self, scrubber: Scrubber) -> list[Recording]:
        """The trajectories, once all lines were taken."""


@dataclass(frozen=True, slots=True)
class SessionFormat:
    """One agent's session files. `folders` are where they lie in the agent's own folder."""

    name: str
    label: str
    folders: tuple[str, ...]
    reader: Callable[[Path, Pictures], Reader]
    knows: Callable[[dict[str, Any]], bool]


CLAUDE_CODE = SessionFormat("claude-code", "Claude Code", ("projects",), ClaudeCodeReader, is_claude_code)
CODEX = SessionFormat("codex", "Codex", ("sessions", "archived_sessions"), CodexReader, is_codex)

FORMATS = {form.name: form for form in (CLAUDE_CODE, CODEX)}
