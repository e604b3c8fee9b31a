"""Recorded text made safe to keep: valid UTF-8, line feeds as line ends, no control characters."""

import re

REPLACEMENT = "�"
_CONTROLS = bytes(set(range(0x20)) - {0x09, 0x0A} | {0x7F})
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


def is_clean(text: str) -> bool:
    """Whether cleaning would change nothing. Quick: nearly all of 100,000 texts are clean."""
    if len(text) < 400:
        return text.isprintable() or _UNSAFE.search(text) is None
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return False
    if len(data.translate(None, _CONTROLS)) != len(data):
        return False
    # U+0080 to U+009F are 0xC2 0x80 to 0xC2 0x9F
    return b"\xc2" not in data or _UNSAFE.search(text) is None
