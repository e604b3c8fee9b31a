"""One page of output: capped in bytes, free of control characters, ending with how to go on."""

from __future__ import annotations

DEFAULT_BYTES = 12_000
HARD_BYTES = 63_000  # with an error beside it, never above 64 KB
LEAST_BYTES = 1_000
FOOTER_BYTES = 500
LONG_LINE = 2_000  # characters of one line that a page shows before it says how much more there is

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Terminal escapes begin with one of C0 or C1; the others can reorder or hide what a person reads.
_FORBIDDEN = {
    code: _REPLACEMENT
    for code in (
        *range(0x00, 0x20),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0x2028,
        0x2029,
    )
    if code != 0x09
}


def clean(text: str) -> str:
    """The text on one line: control characters become U+FFFD and lone surrogates "?", one for one."""
    text = text.translate(_FORBIDDEN)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def clip(text: str, width: int) -> str:
    """The first `width` characters, with a mark where something was left out."""
    return text if len(text) <= width else text[: width - 1] + "…"


def quote(text: str, width: int = 60) -> str:
    """The caller's own words, safe inside an error message."""
    return "'" + clip(clean(text), width) + "'"


def around(text: str, start: int, end: int, width: int) -> str:
    """About `width` characters of a line around the match at [start, end)."""
    if len(text) <= width:
        return text
    shown = min(end - start, width)
    left = max(0, min(start - (width - shown) // 2, len(text) - width))
    right = left + width
    return ("…" if left else "") + text[left:right] + ("…" if right < len(text) else "")


class Page:
    """Lines up to `limit` bytes, newlines included, with room kept for a last word.

    A line that no longer fits is refused as a whole and the page is full from then on, so that what was shown
    is a prefix and the footer can say where to continue.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self.limit = max(LEAST_BYTES, min(limit, HARD_BYTES))
        self.full = False
        self._room = self.limit - FOOTER_BYTES
        self._lines: list[bytes] = []

    @property
    def room(self) -> int:
        """Bytes left before the footer."""
        return 0 if self.full else self._room

    def line(self, text: str = "", width: int = LONG_LINE) -> bool:
        """Add one line, clipped to `width` characters; False when the page is full."""
        if self.full:
            return False
        raw = clean(clip(text, width)).encode("utf-8") + b"\n"
        if len(raw) > self._room:
            self.full = True
            return False
        self._lines.append(raw)
        self._room -= len(raw)
        return True

    def piece(self, text: str) -> int:
        """Add as much of the text as fits, on one line; the number of characters shown."""
        if self._room < 8:
            self.full = True
            return 0
        raw = clean(text[: self._room]).encode("utf-8")[: self._room - 1]
        shown = raw.decode("utf-8", "ignore")
        self._lines.append(shown.encode("utf-8") + b"\n")
        self._room -= len(self._lines[-1])
        return len(shown)

    def foot(self, text: str) -> None:
        """Add a last word, for which room was kept: at most 500 bytes in all."""
        left = self.limit - sum(map(len, self._lines)) - 1
        raw = clean(text).encode("utf-8")[: min(left, FOOTER_BYTES - 1)]
        self._lines.append(raw.decode("utf-8", "ignore").encode("utf-8") + b"\n")

    def bytes(self) -> bytes:
        """All lines so far."""
        return b"".join(self._lines)
