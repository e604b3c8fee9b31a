"""Text from recordings, agents and models on its way to a terminal: shown, never obeyed."""

import unicodedata

_HARMLESS = frozenset("\n\t")


def inert(text: str) -> str:
    """The text with every control and format character (escapes, bidi marks) replaced by a mark."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd" if unicodedata.category(mark) in ("Cc", "Cf", "Cs") and mark not in _HARMLESS else mark
        for mark in text
    )
