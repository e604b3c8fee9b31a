"""Text of a session made fit to keep: no terminal colours, no control characters, no secrets."""

import re

from ..sanitise import Cleaner
from .secrets import Masker

# Colours, cursor movements, window titles and links. They go first: one can stand inside a secret.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


class Scrubber:
    """Scrubs texts; `masked` counts the secrets in all of them by kind."""

    def __init__(self) -> None:
        self._cleaner = Cleaner()
        self._masker = Masker()

    @property
    def masked(self) -> dict[str, int]:
        return dict(self._masker.masked)

    def scrub(self, text: str) -> str:
        """`text` as it may be kept."""
        if "\x1b" in text:
            text = _TERMINAL.sub("", text)
        return self._masker.mask(self._cleaner.clean(text))

    def scrub_again(self, text: str) -> str:
        """`text` as it may be kept, not counted: it repeats what is scrubbed elsewhere."""
        counted = self._masker.masked.copy()
        scrubbed = self.scrub(text)
        self._masker.masked = counted
        return scrubbed
