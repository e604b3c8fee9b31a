"""When an attempt is over: evidence was handed in, the model is out of reach, or nothing happens any more."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runbook.gateway.line import Line
from runbook.gateway.records import WireFacts
from runbook.outcomes import INFRASTRUCTURE_FAILURES

OUTPUT_FILE = "memory_module_output.json"
SUBMITTED_FILE = ".submitted"
POLL_SECONDS = 0.05
MODEL_POLL_SECONDS = 0.5
FAILING_CALLS = 3  # in a row, each of them already retried by the gateway,
FAILING_SECONDS = 20.0  # and for so long: some CLIs go on for ever against a model that answers nothing


class StopReason(StrEnum):
    """Why we ended an attempt that had not ended by itself."""

    SUBMITTED = "submitted"
    GRACE = "grace"
    CANCELLED = "cancelled"
    BUDGET = "budget"
    STALLED = "stalled"
    MODEL_FAILS = "model_fails"


@dataclass(frozen=True, slots=True)
class WatchOrder:
    """What to watch, and how patiently."""

    workspace: Path
    cancel: threading.Event
    grace_seconds: float
    is_valid: Callable[[Path], bool]
    """Says whether an evidence file can be accepted; asked when it lay unchanged for the grace period."""
    line: Line | None = None
    idle_seconds: float = 300.0
    """Without output of the agent and without traffic on the line; only where there is a line."""


class AttemptWatch:
    """Looks at the workspace every 50 ms and calls `end` once when the attempt is over.

    The workspace belongs to the agent, so nothing in it is trusted: not even the times of its files.
    """

    def __init__(self, order: WatchOrder, end: Callable[[], None]) -> None:
        self.reason: StopReason | None = None
        self._order = order
        self._end = end
        self._seen: tuple[int, int, int] | None = None
        self._unchanged_since = 0.0
        self._last_output = time.monotonic()
        self._model = _ModelPatience(order.line) if order.line is not None else None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="attempt-watch", daemon=True)

    def __enter__(self) -> "AttemptWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def note_output(self) -> None:
        """The agent printed something, so it is not idle."""
        self._last_output = time.monotonic()

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.reason = self._reason()
            if self.reason is not None:
                self._end()
                return

    def _reason(self) -> StopReason | None:
        if self._order.cancel.is_set():
            return StopReason.CANCELLED
        if _version(self._order.workspace / SUBMITTED_FILE) is not None:
            return StopReason.SUBMITTED
        if self._grace_passed():
            return StopReason.GRACE
        return self._model_reason(self._order.line) if self._order.line is not None else None

    def _model_reason(self, line: Line) -> StopReason | None:
        if line.over_budget():
            return StopReason.BUDGET
        quiet = min(time.monotonic() - self._last_output, line.idle_seconds())
        if quiet > self._order.idle_seconds:
            return StopReason.STALLED
        if self._model is not None and self._model.is_exhausted():
            return StopReason.MODEL_FAILS
        return None

    def _grace_passed(self) -> bool:
        version = _version(self._order.workspace / OUTPUT_FILE)
        now = time.monotonic()
        if version is None or version != self._seen:
            self._seen, self._unchanged_since = version, now
            return False
        if now - self._unchanged_since < self._order.grace_seconds:
            return False
        self._unchanged_since = now  # an invalid file is not read again before another grace period
        return self._order.is_valid(self._order.workspace / OUTPUT_FILE)


class _ModelPatience:
    """Tells a model that fails now and then from one that an agent asks in vain, again and again."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._next_look = 0.0
        self._failing: tuple[float, int] | None = None
        """Since when, and after how many failed calls before."""

    def is_exhausted(self) -> bool:
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + MODEL_POLL_SECONDS
        facts = self._line.facts()
        if not _fails(facts):
            self._failing = None
            return False
        if self._failing is None:
            self._failing = (now, facts.failed_calls - 1)
        since, failed_before = self._failing
        return now - since >= FAILING_SECONDS and facts.failed_calls - failed_before >= FAILING_CALLS


def _fails(facts: WireFacts) -> bool:
    return facts.failure in INFRASTRUCTURE_FAILURES


def _version(path: Path) -> tuple[int, int, int] | None:
    """What tells versions of a file apart, without following links; None where there is no such name."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
