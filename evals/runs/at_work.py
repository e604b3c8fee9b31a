"""What the questions of a run are waiting for, while none of them ends."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

HAYSTACK: Final = "haystack"  # its view and index
QUERY: Final = "query"
READING: Final = "reading"
VERDICT: Final = "verdict"
_IN_ORDER = (HAYSTACK, QUERY, READING, VERDICT)


class AtWork:
    """Who is in which stage, and since when. Safe to use from several threads at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: dict[object, tuple[str, float]] = {}

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        """A question is in this stage until the block ends."""
        one = object()
        with self._lock:
            self._since[one] = (stage, self._clock())
        try:
            yield
        finally:
            with self._lock:
                del self._since[one]

    def told(self) -> str:
        """How many are in each stage, and the longest stay: "query 2 (95 s), reading 1 (3 s)"; or ""."""
        with self._lock:
            stays = list(self._since.values())
        now = self._clock()
        counts = {stage: [now - since for at, since in stays if at == stage] for stage in _IN_ORDER}
        return ", ".join(
            f"{stage} {len(seconds)} ({max(seconds):.0f} s)" for stage, seconds in counts.items() if seconds
        )
