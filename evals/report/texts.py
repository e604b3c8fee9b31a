"""Recorded text on its way into a page: every character is shown for what it is, and nothing is obeyed."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import escape

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor moves
    r"|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, hyperlinks, device strings
    r"|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_JOINERS = frozenset("\u200c\u200d")
"""Format characters that scripts and emoji are written with, and that change no order of reading."""
_UNUSUAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_STACKED = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})"
    r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_REMEMBERED, _SHORT_TEXT = 20_000, 120
"""Figures and names come again and again: so many of at most so many characters are remembered."""
_LOOKAHEAD = 8_000
"""Characters behind a cut that are still looked at, so that no secret is cut in two before it is known."""


def shown(text: str) -> str:
    """The text with terminal escapes left out and every control, bidi and format character made visible."""
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", text.replace("\r\n", "\n")) if "\x1b" in text or "\x9b" in text else text
    text = _UNUSUAL.sub(_mark, text.replace("\r\n", "\n"))
    return _STACKED.sub(r"\1", text)


def _mark(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in _JOINERS:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    name = "" if code < 0xA0 else _SHORT.get(code, "")
    return f"⟨{name or f'U+{code:04X}'}⟩"


_SHORT = {
    0x061C: "ALM", 0x200B: "ZWSP", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE",
    0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI",
    0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip


class Clean(str):
    """A text that has been made visible, and redacted where that was asked for."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a text, ready to be shown."""

    text: Clean
    left_out: int
    """Characters that are not in it."""

    def __bool__(self) -> bool:
        return bool(self.text)


class Texts:
    """How this report shows text: whole or as excerpts, redacted or not."""

    def __init__(self, redact: Callable[[str], str] | None = None, *, whole: bool = False) -> None:
        """`whole`: excerpts are as long as what they are taken from."""
        self._redact = redact
        self._cleaned = lru_cache(_REMEMBERED)(self._clean)
        self.whole = whole

    @property
    def redacted(self) -> bool:
        return self._redact is not None

    def clean(self, text: str) -> Clean:
        """The whole text, redacted where that is asked for, and visible."""
        if isinstance(text, Clean):
            return text
        return self._cleaned(text) if len(text) <= _SHORT_TEXT else self._clean(text)

    def _clean(self, text: str) -> Clean:
        return Clean(shown(self._redact(text) if self._redact else text))

    def excerpt(self, text: str, most_bytes: int) -> Excerpt:
        """The beginning of a text, of at most so many bytes as they will stand in the page."""
        if self.whole:
            return Excerpt(self.clean(text), 0)
        taken = text[: most_bytes + _LOOKAHEAD]
        found = cut(self.clean(taken), most_bytes)
        if len(taken) == len(text) and not found.left_out:
            return found
        return Excerpt(found.text, max(len(text) - len(found.text), 1))


def cut(text: Clean, most_bytes: int) -> Excerpt:
    """The beginning of a clean text that takes at most so many bytes, quoting for HTML included."""
    if len(text) * _LONGEST_QUOTED <= most_bytes or _bytes(text[: most_bytes + 1]) <= most_bytes:
        return Excerpt(text, 0)
    end = bisect_right(range(min(len(text), most_bytes)), most_bytes, key=lambda end: _bytes(text[: end + 1]))
    return Excerpt(Clean(text[:end]), len(text) - end)


_LONGEST_QUOTED = 5


def _bytes(text: str) -> int:
    """What a text takes in a page."""
    return len(str(escape(text)).encode("utf-8", "replace"))
