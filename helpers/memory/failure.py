"""What a verb raises when it cannot do what was asked."""

from __future__ import annotations

FOUND = 0
NOTHING_FOUND = 1
WRONG = 2
TIME_LIMIT = 3


class HelperError(Exception):
    """One clear line for the agent, and the exit code that goes with it."""

    def __init__(self, text: str, code: int = WRONG) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class NoIndexError(HelperError):
    """The index is missing, damaged, or of another version."""
