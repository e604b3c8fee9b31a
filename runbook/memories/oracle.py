"""`oracle`: the gold evidence itself, the ceiling of everything that searches."""

from collections.abc import Callable

from manifests.views import View
from runbook.evidence import Span
from runbook.memories.answering import Found, answer
from runbook.memories.parts import MemoryParts
from runbook.memory import QueryResult, QueryTask

Gold = Callable[[QueryTask], tuple[Span, ...] | None]


class Oracle:
    """The gold spans of the question, in the order of their pieces; nothing where there are none."""

    name = "oracle"

    def __init__(self, gold: Gold) -> None:
        self._gold = gold

    def insert(self, haystack: View) -> None:
        """Nothing to prepare."""

    def query(self, task: QueryTask) -> QueryResult:
        """Gold is not cut to a budget."""
        spans = self._gold(task) or ()
        states = sum(len(span.states) for span in spans)
        return answer(self.name, task, max(1, states), lambda: Found(spans))


def make(parts: MemoryParts) -> Oracle:
    """Needs gold."""
    return Oracle(parts.gold)
