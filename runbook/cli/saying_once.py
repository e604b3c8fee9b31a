"""A console on which what several arms say is printed once, with how many of them said it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from runbook.cli.terminal import WorkConsole

AGAIN_SECONDS = 60.0
"""While a run goes on, the same line is not printed again sooner."""


class SharedConsole(WorkConsole):
    """Lines printed within `gathering` wait for its end, each with the arms that said it."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr)
        self._gathered: dict[str, set[str]] | None = None
        self._arm = ""
        self._said: dict[str, float] = {}
        self._guard = threading.Lock()

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; of a single line of text only once what several say."""
        if len(objects) != 1 or not isinstance(objects[0], str) or self._is_new(objects[0]):
            super().print(*objects, **options)

    def speak_for(self, arm: str) -> None:
        """From now on what is gathered is this arm's."""
        self._arm = arm

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather the lines of several arms, and print each once at the end, whatever the end is."""
        self._gathered = {}
        try:
            yield
        finally:
            gathered, self._gathered = self._gathered, None
            for line, arms in gathered.items():
                more = f" ({len(arms)} arms)" if len(arms) > 1 else ""
                super().print(f"{line}{more}")

    def _is_new(self, line: str) -> bool:
        with self._guard:
            if self._gathered is not None:
                self._gathered.setdefault(line, set()).add(self._arm)
                return False
            now = time.monotonic()
            if now - self._said.get(line, -AGAIN_SECONDS) < AGAIN_SECONDS:
                return False
            self._said[line] = now
            return True
