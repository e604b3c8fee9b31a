"""Builders of session files as Claude Code and Codex write them, line by line."""

import base64
import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]

SESSION = "11111111-2222-4333-8444-55555555abcd"
FOLDER = "/home/ada/shop"
TIME = "2026-03-02T09:00:00.000Z"  # a Monday


def write_lines(path: Path, lines: list[Line]) -> Path:
    """A file of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


class ClaudeSession:
    """A session file of Claude Code in the making; each method adds one line and returns it."""

    def __init__(self, session: str = SESSION, folder: str = FOLDER, branch: str = "main") -> None:
        self.session = session
        self.lines: list[Line] = []
        self.common: Line = {
            "isSidechain": False,
            "userType": "external",
            "cwd": folder,
            "sessionId": session,
            "version": "2.1.197",
            "gitBranch": branch,
            "timestamp": TIME,
        }

    def line(self, kind: str, **fields: Any) -> Line:
        """Any line with a uuid."""
        number = len(self.lines)
        parent = next((one["uuid"] for one in reversed(self.lines) if "uuid" in one), None)
        added = {
            "parentUuid": parent,
            **self.common,
            "type": kind,
            "uuid": f"{self.session[:8]}-0000-4000-8000-{number:012d}",
            **fields,
        }
        self.lines.append(added)
        return added

    def remark(self, kind: str, **fields: Any) -> Line:
        """A line about the session."""
        added = {"type": kind, "sessionId": self.session, **fields}
        self.lines.append(added)
        return added

    def user(self, content: Any, **fields: Any) -> Line:
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: Line, **fields: Any) -> Line:
        message = {"id": "msg", "type": "message", "role": "assistant", "content": list(blocks)}
        return self.line("assistant", message=message, **fields)

    def says(self, text: str, **fields: Any) -> Line:
        return self.assistant({"type": "text", "text": text}, **fields)

    def thinks(self, text: str) -> Line:
        return self.assistant({"type": "thinking", "thinking": text, "signature": "c2ln"})

    def calls(self, tool: str, call: str = "toolu_1", **arguments: Any) -> Line:
        return self.assistant({"type": "tool_use", "id": call, "name": tool, "input": arguments})

    def gets(self, content: Any, call: str = "toolu_1", **fields: Any) -> Line:
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": False}
        return self.user([block], toolUseResult={"stdout": "not read"}, **fields)

    def write(self, folder: Path) -> Path:
        """The file, named as the program names it, in the project's folder in `folder`."""
        return write_lines(folder / "projects" / "-home-ada-shop" / f"{self.session}.jsonl", self.lines)


def claude_session(session: str = SESSION, request: str = "How do we fix the flaky deploy?") -> ClaudeSession:
    """A session of two states: a command and an answer."""
    made = ClaudeSession(session)
    made.user(request)
    made.calls("Bash", command="make deploy")
    made.gets("deploy: connection reset by peer")
    made.says("The health check needs a retry.")
    return made


class CodexSession:
    """A session file of Codex in the making; each method adds one line and returns it."""

    def __init__(self, session: str = SESSION, folder: str = FOLDER, **meta: Any) -> None:
        self.session = session
        self.lines: list[Line] = []
        head = {"id": session, "timestamp": TIME, "cwd": folder, "cli_version": "0.171.0", "source": "exec"}
        self.line("session_meta", {**head, "git": {"branch": "main"}, **meta})

    def line(self, kind: str, payload: Line) -> Line:
        """Any line."""
        added = {"timestamp": TIME, "ordinal": len(self.lines), "type": kind, "payload": payload}
        self.lines.append(added)
        return added

    def item(self, kind: str, **fields: Any) -> Line:
        return self.line("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> Line:
        return self.line("event_msg", {"type": kind, **fields})

    def user(self, *texts: str) -> Line:
        content = [{"type": "input_text", "text": text} for text in texts]
        return self.item("message", role="user", content=content)

    def says(self, text: str) -> Line:
        return self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def thinks(self, text: str) -> Line:
        summary = [{"type": "summary_text", "text": text}]
        return self.item("reasoning", summary=summary, content=None, encrypted_content="gAAA")

    def calls(self, tool: str, call: str = "call_1", **arguments: Any) -> Line:
        return self.item("function_call", name=tool, arguments=json.dumps(arguments), call_id=call)

    def gets(self, output: Any, call: str = "call_1") -> Line:
        return self.item("function_call_output", call_id=call, output=output)

    def write(self, folder: Path) -> Path:
        """The file, named as the program names it, in `folder`."""
        name = f"rollout-2026-03-02T09-00-00-{self.session}.jsonl"
        return write_lines(folder / "sessions" / "2026" / "03" / "02" / name, self.lines)


def codex_session(session: str = SESSION, request: str = "How do we fix the flaky deploy?") -> CodexSession:
    """A session of two states: a command and an answer."""
    made = CodexSession(session)
    made.user(request)
    made.calls("exec_command", cmd="make deploy")
    made.gets("Process exited with code 2\nOutput:\nconnection reset by peer\n")
    made.says("The health check needs a retry.")
    return made


def encoded(data: bytes) -> str:
    """base64, as pictures are recorded."""
    return base64.b64encode(data).decode()
