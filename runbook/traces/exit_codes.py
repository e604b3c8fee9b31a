"""Exit codes as agents tell their models: in words, in the text of a tool's result.

Each rule is anchored where its agent writes, so that a command's own output is not taken for one.
"""

import re
from collections.abc import Callable

_CODEX = re.compile(r"^Process exited with code (-?\d{1,10})$", re.MULTILINE)
_CLAUDE = re.compile(r"Exit code (-?\d{1,10})(?:\n|$)")
_GEMINI = re.compile(r"^Exit Code: (-?\d{1,10})$", re.MULTILINE)
_PI = re.compile(r"(?:^|\n)Command exited with code (-?\d{1,10})\s*$")
_REACT = re.compile(r"exit code (-?\d{1,10})(?:\n|$)")
_MINI = re.compile(r'\s*\{\s*"returncode":\s*(-?\d{1,10})\b')
_TAIL = 400
"""Characters at the end in which a code that follows the output is looked for."""


def told_exit_code(text: str, stream: str = "", *, shell: bool = True) -> int | None:
    """The exit code that a result tells; None where it tells none.

    Args:
        text: the result as the model was sent it.
        stream: name of the agent's stream parser; "" tries the rules of every agent.
        shell: whether the tool runs commands.
    """
    if not shell:
        return None
    rule = _RULES.get(stream)
    if rule is not None:
        return rule(text)
    codes = (one(text) for one in (_codex, _claude, _qwen, _pi, _mini, _react))
    return next((code for code in codes if code is not None), None)


def _code(match: re.Match[str] | None) -> int | None:
    return int(match[1]) if match else None


def _codex(text: str) -> int | None:
    """In the lines before `Output:`."""
    head = text[:2000].split("\nOutput:", 1)[0]
    return _code(_CODEX.search(head))


def _claude(text: str) -> int | None:
    return _code(_CLAUDE.match(text))


def _qwen(text: str) -> int | None:
    codes = _GEMINI.findall(text[-_TAIL:])
    return int(codes[-1]) if codes else None


def _gemini(text: str) -> int | None:
    """It leaves the line out where the code is 0, and there is no output where nothing ran."""
    code = _qwen(text)
    ran = re.match(r"(?:<untrusted_context>\s*)?Output: ", text)
    return 0 if code is None and ran else code


def _pi(text: str) -> int | None:
    return _code(_PI.search(text[-_TAIL:]))


def _mini(text: str) -> int | None:
    return _code(_MINI.match(text))


def _react(text: str) -> int | None:
    return _code(_REACT.match(text))


_RULES: dict[str, Callable[[str], int | None]] = {
    "codex": _codex,
    "claude": _claude,
    "claude-code": _claude,
    "gemini": _gemini,
    "gemini-cli": _gemini,
    "qwen": _qwen,
    "qwen-code": _qwen,
    "pi": _pi,
    "mini-swe-agent": _mini,
    "react": _react,
}
