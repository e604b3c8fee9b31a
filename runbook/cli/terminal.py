"""Text from recordings, agents and models on its way to a terminal: shown, never obeyed."""

import unicodedata

from rich.console import Console

from runbook.cli.streams import give_up_output

_HARMLESS = frozenset("\n\t")


def inert(text: str) -> str:
    """The text with every control and format character (escapes, bidi marks) replaced by a mark."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd" if unicodedata.category(mark) in ("Cc", "Cf", "Cs") and mark not in _HARMLESS else mark
        for mark in text
    )


class WorkConsole(Console):
    """The console of a command whose work is worth more than what it prints: without a reader it goes on."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the program without a word."""
        self.quiet = True
        if not self.stderr:
            give_up_output()
            terminal(stderr=True).print("nobody reads this output any more; the work goes on, Ctrl-C ends it")


def terminal(*, stderr: bool = False) -> Console:
    """The console of every command: nothing printed is taken for markup or a style, and lines are not cut."""
    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True)
