"""How fast a run goes, and when it will be done."""

from collections import deque

FEW = 4  # ends, before which nothing is known but how long the first took
WINDOW = 20  # ends over which the pace is measured, at least; a tenth of the run where that is more


class Pace:
    """Measured over the last ends alone: the first questions of a run wait for what is built only once, and
    what was recorded earlier takes no time at all. All times are seconds of one clock.
    """

    def __init__(self, total: int, begun: float) -> None:
        self._total = total
        self._begun = begun
        self._ends: deque[tuple[int, float]] = deque(maxlen=max(WINDOW, total // 10))
        self._done = 0
        self._now = begun

    def note(self, done: int, now: float) -> None:
        """So many are done by now."""
        self._done, self._now = done, now
        self._ends.append((done, now))

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take; None while that is not known."""
        if self._done >= self._total:
            return 0.0
        if len(self._ends) < FEW:
            return None
        first, since = self._ends[0]
        return (self._now - since) / (self._done - first) * (self._total - self._done)

    def told(self) -> str:
        """The pace so far and the time that is left, in words."""
        rate = 60 * self._done / max(self._now - self._begun, 1e-9)
        left = "time left not known yet" if self.left is None else f"about {self.left:.0f} s left"
        return f"{rate:.0f}/min, {left}"
