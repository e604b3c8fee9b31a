"""A tool call as an action: a shell command as typed, any other tool by name and by what it was used on."""

import json
import re
import shlex
from typing import Any

_SHELLS = frozenset(
    {"bash", "shell", "shell_command", "exec_command", "local_shell", "container.exec", "run_shell_command"}
)
_COMMANDS = ("command", "cmd")
# What a tool is used on stands beside its name; long text stands below; all else follows as JSON.
_OBJECTS = (
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "query",
    "url",
    "skill",
    "description",
    "name",
)
_BODIES = ("prompt", "content", "new_source", "plan", "message")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def rendered(tool: str, arguments: Any) -> str:
    """The action for a call of `tool`: a line that says what was done, then those of a change or a text."""
    if isinstance(arguments, str):
        return _free_form(tool, arguments)
    if not isinstance(arguments, dict):
        return tool
    if tool.lower() in _SHELLS:
        for key in _COMMANDS:
            if key in arguments:
                return command_line(arguments[key])
    left = {key: value for key, value in arguments.items() if value is not None and value is not False}
    head, body = [tool], []
    used_on = next((key for key in _OBJECTS if isinstance(left.get(key), str)), None)
    if used_on:
        head.append(left.pop(used_on))
    for change in _changes(left):
        body += _changed("-", change.get("old_string")) + _changed("+", change.get("new_string"))
    for key in _BODIES:
        if isinstance(left.get(key), str):
            body += left.pop(key).split("\n")
    if left:
        head.append(json.dumps(left, ensure_ascii=False))
    return "\n".join([" ".join(head), *body])


def command_line(command: Any) -> str:
    """A shell command: text as it is, `["bash", "-lc", "ls | wc"]` and other lists as they would be typed."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return json.dumps(command, ensure_ascii=False)
    words = [str(word) for word in command]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    if len(words) == 2 and words[0] == "apply_patch":
        return _free_form(*words)
    return shlex.join(words)


def first_line(action: str, limit: int = 100) -> str:
    """The action on one line, cut to `limit` characters between words: half a secret would not be known."""
    line = action.split("\n", 1)[0]
    return line if len(line) <= limit else line[:limit].rpartition(" ")[0] + "…"


def _free_form(tool: str, text: str) -> str:
    files = ", ".join(dict.fromkeys(_PATCHED.findall(text)))
    return f"{tool} {files}".rstrip() + f"\n{text}"


def _changes(left: dict[str, Any]) -> list[dict[str, Any]]:
    """The replacements of an edit, taken out of `left`."""
    if "new_string" in left:
        return [{"old_string": left.pop("old_string", ""), "new_string": left.pop("new_string")}]
    edits = left.get("edits")
    if isinstance(edits, list) and all(isinstance(edit, dict) and "new_string" in edit for edit in edits):
        del left["edits"]
        return edits
    return []


def _changed(sign: str, text: Any) -> list[str]:
    if not isinstance(text, str) or not text:
        return []
    return [f"{sign} {line}" if line else sign for line in text.split("\n")]
