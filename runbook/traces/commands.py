"""The shell text that a tool call runs, without what the agent wrapped around it."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from runbook.traces.untrusted_json import TEXT_CHARACTERS, excerpt, writable

_KEYS = ("command", "cmd", "script")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh\s+-[a-z]*c\b")
_SHELL_NAMES = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_DEPTH = 3
_WRAPPED = 3
"""Words of `bash -c SCRIPT`."""
_PIECE = re.compile(
    r"""(?P<space>\s+)|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<escaped>.)|(?P<bare>[^\s'"\\]+)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"""\\([$`"\\\n])""")


@dataclass(frozen=True, slots=True)
class Command:
    """`text` is what the shell runs, `raw` how it was told where that differs, else ""."""

    text: str
    raw: str = ""


def command_of(arguments: object) -> Command:
    """The command in the arguments of a tool call: an object, its JSON text, a text, or an argv."""
    if isinstance(arguments, dict):
        value = next((arguments[key] for key in _KEYS if key in arguments), None)
        return unwrap(value)
    return unwrap(arguments)


def unwrap(told: object) -> Command:
    """A command text or argv without `bash -lc` around it."""
    if isinstance(told, list) and all(isinstance(part, str) for part in told):
        inner = _inner(told)
        text = shlex.join(told) if inner is None else inner
        return Command(excerpt(_unwrapped(text)), excerpt(shlex.join(told)))
    if not isinstance(told, str):
        return Command("")
    text = _unwrapped(told)
    return Command(excerpt(text.strip()), "" if text is told else excerpt(told))


def arguments_text(arguments: object) -> str:
    """The arguments of a tool as JSON text."""
    if isinstance(arguments, str):
        return excerpt(arguments)
    if not isinstance(arguments, Mapping):
        return ""
    try:
        return excerpt(orjson.dumps(arguments).decode())
    except TypeError:  # half surrogates, integers beyond 64 bits
        return excerpt(writable(str(arguments)))


def parsed_arguments(text: str) -> dict[str, Any]:
    """The arguments as a model sent them: JSON text, which a model may have got wrong."""
    try:
        value = orjson.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _unwrapped(text: str) -> str:
    for _ in range(_DEPTH):
        if len(text) > 8 * TEXT_CHARACTERS or not _SHELL.match(text.lstrip()):
            break
        inner = _inner(_words(text))
        if inner is None:
            break
        text = inner
    return text


def _words(text: str) -> list[str]:
    """The first four words of a command line, quotes taken off; none where a quote is not closed.

    As a shell reads them, which `shlex` does not: `\\$` in double quotes is a dollar. It is also a
    hundred times slower, and streams repeat every command.
    """
    words: list[str] = []
    place, inside = 0, False
    while place < len(text) and len(words) <= _WRAPPED:
        match = _PIECE.match(text, place)
        if match is None:
            return []
        place = match.end()
        if match["space"]:
            inside = False
            continue
        if not inside:
            words.append("")
        inside = True
        words[-1] += _unquoted(match)
    return words


def _unquoted(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return _ESCAPE.sub(lambda escape: escape[1].replace("\n", ""), match["double"])
    return match["bare"] if match["bare"] is not None else match["escaped"].replace("\n", "")


def _inner(argv: list[str]) -> str | None:
    """The script of `bash -c SCRIPT`; None where that is not all there is."""
    wraps = len(argv) == _WRAPPED and argv[0].rsplit("/", 1)[-1] in _SHELL_NAMES
    return argv[2] if wraps and re.fullmatch(r"-[a-z]*c", argv[1]) else None
