"""Recorded text made safe to keep: valid UTF-8, line feeds as line ends, no control characters."""

import re
from collections.abc import Iterable

REPLACEMENT = "�"
_CONTROLS = sorted(set(range(0x20)) - {0x09, 0x0A} | {0x7F})
_SHORT = 400  # characters; below it, what is called for a text costs more than the text
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Cleaner:
    """Cleans text and counts, over all of it, the characters it had to replace."""

    def __init__(self) -> None:
        self.replaced = 0

    def clean(self, text: str) -> str:
        """`text` without lone surrogates and control characters but tab and LF; CRLF and CR become LF."""
        if is_clean(text):
            return text
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text, count = _UNSAFE.subn(REPLACEMENT, text)
        self.replaced += count
        return text


def recorded_id(raw: str) -> str:
    """A trajectory's id as the store has it; for whoever compares ids of other files with it."""
    return Cleaner().clean(raw)


def are_clean(texts: Iterable[str]) -> bool:
    """Whether cleaning would change none of them. Quick: a haystack has a hundred thousand, mostly short."""
    short = []
    for text in texts:
        if len(text) < _SHORT:
            short.append(text)
        elif not is_clean(text):
            return False
    return is_clean("\n".join(short))


def is_clean(text: str) -> bool:
    """Whether cleaning would change nothing."""
    if len(text) < _SHORT:
        return text.isprintable() or _UNSAFE.search(text) is None
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return False
    if any(map(data.__contains__, _CONTROLS)):  # thirty searches for one byte are quicker than one for thirty
        return False
    # U+0080 to U+009F are 0xC2 0x80 to 0xC2 0x9F
    return b"\xc2" not in data or _UNSAFE.search(text) is None
