"""Text from recordings, agents and models on its way to a terminal: shown, never obeyed."""

import unicodedata

from rich.console import Console

_HARMLESS = frozenset("\n\t")


def inert(text: str) -> str:
    """The text with every control and format character (escapes, bidi marks) replaced by a mark."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd" if unicodedata.category(mark) in ("Cc", "Cf", "Cs") and mark not in _HARMLESS else mark
        for mark in text
    )


def terminal(*, stderr: bool = False) -> Console:
    """The console of every command: nothing printed is taken for markup or a style, and lines are not cut."""
    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True)
