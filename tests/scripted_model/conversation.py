"""What a request says and what is answered, whatever the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SHELLS = ("exec_command", "shell_command", "shell", "Bash", "bash", "run_shell_command")
_FILLED = {"boolean": False, "number": 60_000, "integer": 60_000, "array": []}


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers."""

    name: str
    schema: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.schema.get("properties") or {}

    def arguments(self, value: str) -> Json:
        """Arguments that give `value` to the tool's command or path, and something to all it requires."""
        names = [name for name in ("cmd", "command", "path") if name in self.properties]
        key = names[0] if names else next(iter(self.properties), "command")
        filled: Json = {key: value}
        if _type(self.properties.get(key, {})) == "array":
            filled[key] = ["bash", "-lc", value]
        for name in self.schema.get("required") or []:
            filled.setdefault(name, _FILLED.get(_type(self.properties.get(name, {})), "run a step"))
        if "yield_time_ms" in self.properties:
            filled["yield_time_ms"] = 10_000
        return filled


def _type(schema: Mapping[str, Any]) -> str:
    return str(schema.get("type", "string")).lower()


@dataclass
class Turn:
    """A tool call of an earlier answer, and what came back; `result` is None where nothing did."""

    id: str
    name: str
    arguments: Any
    result: str | None = None

    @property
    def command(self) -> str:
        """The command of a shell call, "" for anything else."""
        given = parsed(self.arguments) if isinstance(self.arguments, str) else self.arguments
        if not isinstance(given, Mapping):
            return ""
        command = given.get("cmd", given.get("command", ""))
        return " ".join(map(str, command)) if isinstance(command, list) else str(command)

    @property
    def output(self) -> str:
        """The result as text; where an agent sends JSON, all its strings, one below the other."""
        value = parsed(self.result or "")
        return "\n".join(_strings(value)) if isinstance(value, dict | list) else self.result or ""


def parsed(text: str) -> Any:
    """The JSON value of a text, None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []


@dataclass
class Conversation:
    """One request for a generation."""

    model: str
    stream: bool
    system: str = ""
    prompt: str = ""
    """All texts of the user, one below the other."""
    tools: list[Tool] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    images: int = 0
    wants_usage: bool = True
    """False where the wire streams usage only on demand, and none was demanded."""

    @property
    def step(self) -> int:
        """How many tool results came back."""
        return sum(turn.result is not None for turn in self.turns)

    @property
    def shell(self) -> Tool | None:
        return next((tool for name in SHELLS for tool in self.tools if tool.name == name), None)

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def result(self, call: str, text: str) -> None:
        """Note what came back for a call; a result without its call counts too."""
        turn = next((turn for turn in self.turns if turn.id == call and turn.result is None), None)
        if turn is None:
            turn = Turn(call, "", {})
            self.turns.append(turn)
        turn.result = text


@dataclass(frozen=True)
class Call:
    """A tool call to make. `arguments` is JSON text, which `badjson` breaks."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Answer:
    """What the model says. With calls, `text` is left out."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    model: str = ""
    """The model that claims to have answered."""
    without_choices: bool = False
    """Status 200, and nothing where the answer should be."""


@dataclass(frozen=True)
class Numbered:
    """An answer with what makes it one of many: its number on this server, and the time."""

    answer: Answer
    number: int
    created: int
    step: int

    def call_id(self, place: int) -> str:
        return f"call_{self.number}_{place}"


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    data: str
    name: str = ""

    def bytes(self) -> bytes:
        return (f"event: {self.name}\n" if self.name else "").encode() + f"data: {self.data}\n\n".encode()


def event(value: Mapping[str, Any], name: str = "") -> Event:
    return Event(json.dumps(value), name)


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def pieces(text: str) -> list[str]:
    """A text as it is streamed: word by word, spaces kept, at most 2,000 characters at a time."""
    words = text.split(" ")
    joined = [word + " " for word in words[:-1]] + words[-1:]
    return [one[at : at + 2000] for one in joined for at in range(0, len(one), 2000)]


# Tokens of every call, so that sums can be told: 890 + step fresh, 100 read from and 10 written to a cache,
# 50 out of which 20 are reasoning. Wires without a bucket for writes count these as fresh.
FRESH, CACHE_READ, CACHE_WRITE, OUTPUT, REASONING = 890, 100, 10, 50, 20
