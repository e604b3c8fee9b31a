"""Sessions of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`.

A line is a message or a remark about the session. A message has a uuid, and keeps it where a later file
repeats it because the session was resumed or forked. The work of subagents stands in files of their own, in
older versions between the lines of the session; either way it becomes a trajectory of its own.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .blocks import block_list, block_texts, kind_of, note_of, text_of
from .conversation import PICTURE, Conversation
from .pictures import Pictures
from .recording import Recording, Source, mark, recorded, without_blocks
from .texts import Scrubber
from .tool_calls import rendered

# Lines that say nothing of what was seen or done; a queued prompt comes again when the agent gets it.
_REMARKS = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "ended-by-model",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "isolation-latch",
        "last-prompt",
        "marble-origami-commit",
        "marble-origami-reset",
        "marble-origami-snapshot",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "relocated",
        "speculation-accept",
        "system",
        "tag",
        "worktree-state",
    }
)
_MESSAGES = frozenset({"user", "assistant", "attachment"})
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}  # the best one first
_COMMAND = re.compile(r"<command-name>\s*(/?[^<\n]{1,200}?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")
# What the program puts into the user's mouth.
_NOT_ASKED = (
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<user-memory-input>",
    "[Request interrupted",
    "[Image: source:",
)
_LOCAL_ONLY = ("Caveat: The messages below", "<local-command-caveat>")
_SESSION_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMPACTED = "[the conversation so far was replaced by a summary]"


@dataclass(slots=True)
class _Thread:
    """The session itself or one of its subagents."""

    subagent: str = ""
    session: str = ""
    conversation: Conversation = field(default_factory=Conversation)
    goal: str = ""
    command: str = ""  # a slash command that may turn out to be the request
    first: int = 0
    last: int = 0


class ClaudeCodeReader:
    """Takes a session file line by line. `marks` are those of all its messages."""

    def __init__(self, path: Path, pictures: Pictures) -> None:
        self.marks: set[int] = set()
        self._stem = path.stem
        self._pictures = pictures
        self._main = _Thread()
        self._subagents: dict[str, _Thread] = {}
        self._chains: dict[str, str] = {}  # messages of subagents without a name -> the first of their chain
        self._titles: list[dict[str, Any]] = []
        self._version = ""

    def take(self, line: dict[str, Any]) -> bool:
        """Take one line; False where it is of no known kind."""
        kind = kind_of(line)
        if kind in _MESSAGES and isinstance(line.get("uuid"), str):
            self._message(line)
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            self._thread(line).conversation.note(_COMPACTED)
        elif kind in _TITLES:
            self._titles.append(line)
        else:
            return kind in _REMARKS or kind in _MESSAGES
        return True

    def recordings(self, scrubber: Scrubber) -> list[Recording]:
        """The session and its subagents, as far as anything happened in them."""
        found: list[Recording] = []
        for thread in (self._main, *self._subagents.values()):
            own_file = _SESSION_ID.fullmatch(self._stem) and not thread.subagent
            session = self._stem if own_file else thread.session or self._stem
            source = Source("claude-code", "Claude Code", self._version, session, thread.subagent)
            title = "" if thread.subagent else self._title()
            trajectory = recorded(source, thread.conversation, thread.goal, title, scrubber)
            if trajectory:
                found.append(Recording(trajectory, thread.first, thread.last))
        return found

    def _message(self, line: dict[str, Any]) -> None:
        number = mark(line["uuid"])
        if number in self.marks:
            return
        self.marks.add(number)
        thread = self._thread(line)
        thread.first = thread.first or number
        thread.last = number
        thread.session = thread.session or text_of(line.get("sessionId"))
        self._version = self._version or text_of(line.get("version"))
        thread.conversation.here(line.get("timestamp"), line.get("cwd"), line.get("gitBranch"))
        if line["type"] == "attachment":
            self._attachment(thread, line.get("attachment"))
        elif line["type"] == "user":
            self._user(thread, line)
        else:
            self._assistant(thread, line)

    def _thread(self, line: dict[str, Any]) -> _Thread:
        if line.get("isSidechain") is not True:
            return self._main
        uuid, parent = text_of(line.get("uuid")), text_of(line.get("parentUuid"))
        name = text_of(line.get("agentId")) or self._chains.get(parent) or uuid
        self._chains[uuid] = name
        return self._subagents.setdefault(name, _Thread(subagent=name))

    def _title(self) -> str:
        """The session's title. A summary may be of another session, whose last message it names."""
        for kind, name in _TITLES.items():
            for line in reversed(self._titles):
                ours = kind != "summary" or mark(text_of(line.get("leafUuid"))) in self.marks
                if line["type"] == kind and ours and text_of(line.get(name)):
                    return text_of(line.get(name))
        return ""

    def _user(self, thread: _Thread, line: dict[str, Any]) -> None:
        program = line.get("isMeta") is True or line.get("isCompactSummary") is True
        for block in block_list(_content(line)):
            kind = kind_of(block)
            text = text_of(block.get("text"))
            if kind == "text" and program:
                if not text.startswith(_LOCAL_ONLY):
                    thread.conversation.note(text)
            elif kind == "text":
                self._asked(thread, text)
            elif kind == "image":
                self._picture(thread, block)
            elif kind.endswith("tool_result"):
                self._result(thread, block)
            else:
                thread.conversation.note(note_of(block))

    def _asked(self, thread: _Thread, text: str) -> None:
        request = without_blocks(text, "system-reminder")
        if not request or request.startswith(_NOT_ASKED):
            thread.conversation.note(text)
            return
        command = _COMMAND.search(text)
        if command:
            arguments = _ARGUMENTS.search(text)
            text = f"{command[1]} {arguments[1] if arguments else ''}".strip()
            thread.command = text
        elif not thread.goal:
            thread.goal = request
        thread.conversation.user(text)

    def _assistant(self, thread: _Thread, line: dict[str, Any]) -> None:
        made_up = line.get("isApiErrorMessage") is True or _message(line).get("model") == "<synthetic>"
        for block in block_list(_content(line)):
            kind = kind_of(block)
            if kind == "text" and made_up:
                thread.conversation.note(f"[{text_of(block.get('text'))}]")
            elif kind == "text":
                self._answered(thread)
                thread.conversation.said(text_of(block.get("text")))
            elif kind == "thinking":
                thread.conversation.thought(text_of(block.get("thinking")))
            elif kind.endswith("tool_use"):
                self._answered(thread)
                action = rendered(text_of(block.get("name")), block.get("input"))
                thread.conversation.did(block.get("id"), action)
            elif kind.endswith("tool_result"):
                self._result(thread, block)

    def _answered(self, thread: _Thread) -> None:
        """A slash command that the agent answers is a request; one that only the program answers is none."""
        thread.goal = thread.goal or thread.command

    def _result(self, thread: _Thread, block: dict[str, Any]) -> None:
        content = block_list(block.get("content"))
        texts = block_texts(content)
        images = [one for one in content if one.get("type") == "image"]
        thread.conversation.result(block.get("tool_use_id"), "\n".join(texts or [PICTURE] * bool(images)))
        for image in images:
            self._picture(thread, image)

    def _attachment(self, thread: _Thread, attachment: Any) -> None:
        """A prompt typed while the agent worked, or a file that a prompt names; no other counts."""
        if not isinstance(attachment, dict):
            return
        content = attachment.get("content")
        if attachment.get("type") == "queued_command":
            told = attachment.get("commandMode", "prompt") != "prompt" or attachment.get("isMeta") is True
            for text in block_texts(block_list(attachment.get("prompt"))):
                if told:
                    thread.conversation.note(text)
                else:
                    self._asked(thread, text)
        elif attachment.get("type") == "file" and isinstance(content, dict):
            file = content.get("file")
            name = text_of(attachment.get("displayPath")) or text_of(attachment.get("filename"))
            if isinstance(file, dict) and content.get("type") == "image":
                thread.conversation.note(f"[file {name}]")
                thread.conversation.picture(self._pictures.add(text_of(file.get("base64"))))
            elif isinstance(file, dict):
                thread.conversation.note(f"[file {name}]\n{text_of(file.get('content'))}")

    def _picture(self, thread: _Thread, block: dict[str, Any]) -> None:
        source = block.get("source")
        data = source.get("data") if isinstance(source, dict) else None
        thread.conversation.picture(self._pictures.add(data) if isinstance(data, str) else None)


def is_claude_code(line: dict[str, Any]) -> bool:
    """Whether a line can be one of Claude Code's sessions."""
    kind = kind_of(line)
    if kind in _MESSAGES:
        return isinstance(line.get("uuid"), str) and ("message" in line or "attachment" in line)
    return (kind in _REMARKS or kind in _TITLES) and ("sessionId" in line or "leafUuid" in line)


def _message(line: dict[str, Any]) -> dict[str, Any]:
    message = line.get("message")
    return message if isinstance(message, dict) else {}


def _content(line: dict[str, Any]) -> Any:
    return _message(line).get("content")
