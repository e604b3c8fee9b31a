"""`none`: the empty context, which shows what a reader knows by itself."""

from manifests.views import View
from runbook.memories.answering import Found, answer
from runbook.memories.parts import MemoryParts
from runbook.memory import QueryResult, QueryTask


class NoMemory:
    """Returns nothing, and counts as an answer: that is its method."""

    name = "none"

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def insert(self, haystack: View) -> None:
        """Nothing to prepare."""

    def query(self, task: QueryTask) -> QueryResult:
        """The empty context."""
        return answer(self.name, task, self._budget, Found)


def make(parts: MemoryParts) -> NoMemory:
    """Needs nothing."""
    return NoMemory(parts.budget)
