"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`.

A line is {timestamp, type, payload}; what went to and came from the model are the `response_item`s, and the
events beside them tell the same once more. The first versions wrote bare items, no envelopes.
"""

import json
import re
from pathlib import Path
from typing import Any

import orjson

from .blocks import block_list, block_texts, kind_of, note_of, text_of
from .conversation import PICTURE, Conversation
from .pictures import Pictures
from .recording import Recording, Source, mark, recorded
from .texts import Scrubber
from .tool_calls import command_line, rendered

_ENVELOPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_REMARKS = frozenset({"world_state", "token_usage_record"})
_SILENT_ITEMS = frozenset({"ghost_snapshot", "compaction", "context_compaction", "additional_tools", "other"})
# What the program puts before the agent in the user's name: not worth keeping, and worth keeping.
_INSTRUCTIONS = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<environment_context>",
    "<permissions",
    "<skills_instructions>",
    "<apps_instructions>",
    "<collaboration_mode>",
)
_NOT_ASKED = (
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "<image",
    "</image>",
)
_IDE_REQUEST = "## My request for Codex:"
_FOLDER = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")
_VOLATILE = ("id", "status", "metadata", "internal_chat_message_metadata_passthrough", "encrypted_content")
_COMPACTED = "[the conversation so far was replaced by a summary]"


class CodexReader:
    """Takes a session file line by line. `marks` are those of its messages, each with all before it."""

    def __init__(self, path: Path, pictures: Pictures) -> None:
        self.marks: set[int] = set()
        self._pictures = pictures
        self._conversation = Conversation()
        self._session = ""
        self._version = ""
        self._stem = path.stem
        self._goal = ""
        self._title = ""
        self._first = 0
        self._last = 0

    def take(self, line: dict[str, Any]) -> bool:
        """Take one line; False where it is of no known kind."""
        kind, payload = kind_of(line), line.get("payload")
        if isinstance(payload, dict):
            folder = payload.get("cwd") if kind in ("session_meta", "turn_context") else None
            self._conversation.here(line.get("timestamp"), folder, None)
            return self._enveloped(kind, payload)
        if is_bare_head(line):
            self._head(line)
            return True
        return "record_type" in line or self._item(kind, line)

    def recordings(self, scrubber: Scrubber) -> list[Recording]:
        """The session, if anything happened in it."""
        source = Source("codex", "Codex", self._version, self._session or self._stem)
        trajectory = recorded(source, self._conversation, self._goal, self._title, scrubber)
        return [Recording(trajectory, self._first, self._last)] if trajectory else []

    def _enveloped(self, kind: str, payload: dict[str, Any]) -> bool:
        if kind == "session_meta":
            self._head(payload)
        elif kind == "response_item":
            return self._item(kind_of(payload), payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "compacted":
            self._conversation.note(f"{_COMPACTED}\n{text_of(payload.get('message'))}".rstrip())
        else:
            return kind in _ENVELOPES or kind in _REMARKS
        return True

    def _head(self, meta: dict[str, Any]) -> None:
        if self._session:  # the head of the session that this one was forked from, repeated with its lines
            return
        self._session = text_of(meta.get("id"))
        self._version = text_of(meta.get("cli_version"))
        git = meta.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        self._conversation.here(meta.get("timestamp"), meta.get("cwd"), branch)

    def _event(self, event: dict[str, Any]) -> None:
        """Of the events only those count that no item repeats."""
        kind = kind_of(event)
        if kind == "thread_name_updated":
            self._title = text_of(event.get("thread_name")) or self._title
        error = event if kind == "error" else event.get("error") if kind == "task_complete" else None
        if isinstance(error, dict) and text_of(error.get("message")):
            self._conversation.note(f"[error: {text_of(error.get('message'))}]")

    def _item(self, kind: str, item: dict[str, Any]) -> bool:
        if kind == "message":
            self._message(item)
        elif kind == "reasoning":
            for block in (*block_list(item.get("summary")), *block_list(item.get("content"))):
                self._conversation.thought(text_of(block.get("text")))
        elif kind.endswith("_output"):
            self._remember(item)
            self._output(item)
        elif kind.endswith("_call"):
            self._remember(item)
            self._conversation.did(item.get("call_id"), _action(kind, item))
        else:
            return kind in _SILENT_ITEMS
        return True

    def _message(self, item: dict[str, Any]) -> None:
        blocks = block_list(item.get("content"))
        if item.get("role") == "assistant":
            self._remember(item)
            for text in block_texts(blocks):
                self._conversation.said(text)
        elif item.get("role") == "user" and not all(self._is_instruction(block) for block in blocks):
            self._remember(item)
            for block in blocks:
                self._asked(block)

    def _is_instruction(self, block: dict[str, Any]) -> bool:
        text = text_of(block.get("text"))
        if not text.lstrip().startswith(_INSTRUCTIONS):
            return False
        folder = _FOLDER.search(text)
        if folder:
            self._conversation.here(None, folder[1] or folder[2], None)
        return True

    def _asked(self, block: dict[str, Any]) -> None:
        text = text_of(block.get("text"))
        if kind_of(block) == "input_image":
            self._picture(block)
        elif kind_of(block) not in ("input_text", "text"):
            self._conversation.note(note_of(block))
        elif self._is_instruction(block):
            return
        elif text.lstrip().startswith(_NOT_ASKED):
            self._conversation.note(text)
        else:
            self._goal = self._goal or text.partition(_IDE_REQUEST)[2].strip() or text.strip()
            self._conversation.user(text)

    def _output(self, item: dict[str, Any]) -> None:
        output = item.get("output", item.get("tools"))
        if isinstance(output, dict):
            output = output.get("content", output.get("output"))
        if isinstance(output, str):
            output = _unwrapped(output)
        blocks = block_list(output)
        pictures = [block for block in blocks if block.get("type") == "input_image"]
        texts = block_texts(blocks)
        self._conversation.result(item.get("call_id"), "\n".join(texts or [PICTURE] * bool(pictures)))
        for picture in pictures:
            self._picture(picture)

    def _picture(self, block: dict[str, Any]) -> None:
        self._conversation.picture(self._pictures.add_url(text_of(block.get("image_url"))))

    def _remember(self, item: dict[str, Any]) -> None:
        """Items carry no lasting names, so a message is known by its content and by all before it."""
        plain = {key: value for key, value in item.items() if key not in _VOLATILE}
        self._last = mark(f"{self._last}\n{json.dumps(plain, sort_keys=True)}")
        self._first = self._first or self._last
        self.marks.add(self._last)


def is_codex(line: dict[str, Any]) -> bool:
    """Whether a line can be one of Codex's sessions."""
    if isinstance(line.get("payload"), dict):
        return kind_of(line) in _ENVELOPES
    return is_bare_head(line) or (kind_of(line) == "message" and "role" in line and "content" in line)


def is_bare_head(line: dict[str, Any]) -> bool:
    """Whether a line is the first of a session of the early form."""
    return "type" not in line and isinstance(line.get("id"), str) and "timestamp" in line


def _action(kind: str, item: dict[str, Any]) -> str:
    told = item.get("action")
    if kind == "local_shell_call" and isinstance(told, dict):
        return command_line(told.get("command"))
    if kind in ("function_call", "custom_tool_call"):
        return rendered(text_of(item.get("name")), _arguments(item.get("arguments", item.get("input"))))
    told = told if isinstance(told, dict) else {"arguments": item.get("arguments")}
    told = {
        key: value for key, value in told.items() if key not in ("type", "queries") or "query" not in told
    }
    return rendered(kind.removesuffix("_call"), told)


def _arguments(arguments: Any) -> Any:
    """The arguments of a call, which are JSON in text; text as it is for a tool that takes any."""
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    return parsed if isinstance(parsed, dict) else arguments


def _unwrapped(output: str) -> str:
    """The output in the JSON that early versions put around it, and the exit code of a failed command."""
    if not output.startswith('{"output":'):
        return output
    try:
        wrapped = orjson.loads(output)
    except orjson.JSONDecodeError:
        return output
    if not isinstance(wrapped, dict) or not isinstance(wrapped.get("output"), str):
        return output
    metadata = wrapped.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    text: str = wrapped["output"]
    return f"Exit code {code}\n{text}" if code else text
