"""`cascade`: the answer of a quick memory where it is sure, else that of a slow one.

Each threshold is an operating point between the two. Choose it on other questions than those reported:
`evals.matrix.cascade` does that from recorded runs of the two.
"""

from manifests.views import View
from runbook.memories.errors import MemorySettingsError
from runbook.memories.parts import MemoryParts
from runbook.memory import Memory, QueryResult, QueryTask
from runbook.outcomes import INFRASTRUCTURE_FAILURES

_QUICK = "quick"


def asked_slow(result: QueryResult) -> bool:
    """Whether a cascade's result is its slow memory's."""
    return _QUICK in result.timings


def quick_seconds(result: QueryResult) -> float:
    """What the quick memory took before a cascade's slow one was asked; 0 where it was not."""
    return result.timings.get(_QUICK, 0.0)


class Cascade:
    """Both latencies count where the slow memory is asked."""

    name = "cascade"

    def __init__(self, quick: Memory, slow: Memory, threshold: float) -> None:
        self._quick = quick
        self._slow = slow
        self._threshold = threshold

    def insert(self, haystack: View) -> None:
        """That of both."""
        self._quick.insert(haystack)
        self._slow.insert(haystack)

    def query(self, task: QueryTask) -> QueryResult:
        """A quick memory whose infrastructure failed ends the question: its confidence is not known."""
        first = self._quick.query(task)
        sure = first.confidence is not None and first.confidence >= self._threshold
        if sure or first.outcome in INFRASTRUCTURE_FAILURES or task.cancel.is_set():
            return first
        second = self._slow.query(task)
        return second.model_copy(
            update={
                "seconds": first.seconds + second.seconds,
                "timings": {**second.timings, _QUICK: first.seconds},
                "attempts": [*first.attempts, *second.attempts],
                "confidence": first.confidence,
                "insert_cost": first.insert_cost or second.insert_cost,
            }
        )


def make(parts: MemoryParts) -> Cascade:
    """Needs what its two memories need."""
    settings = parts.settings.cascade
    if "cascade" in (settings.quick, settings.slow):
        raise MemorySettingsError("retrieval.cascade: a cascade is made of other memories than itself")
    return Cascade(parts.other(settings.quick), parts.other(settings.slow), settings.threshold)
