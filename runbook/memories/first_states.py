"""`first`: the first states of the haystack, by position alone.

Where it beats `random`, the order of the data set tells where answers are.
"""

from collections.abc import Callable
from itertools import islice

from manifests.views import View
from runbook.memories.answering import Found, answer
from runbook.memories.parts import MemoryParts
from runbook.memories.spans import states
from runbook.memory import QueryResult, QueryTask


class FirstStates:
    """As many states as the budget holds, from the beginning of the data set's order on."""

    name = "first"

    def __init__(self, budget: int, order: Callable[[QueryTask], tuple[str, ...]]) -> None:
        self._budget = budget
        self._order = order

    def insert(self, haystack: View) -> None:
        """Nothing to prepare."""

    def query(self, task: QueryTask) -> QueryResult:
        """The same for all questions with the same haystack."""

        def take() -> Found:
            lengths = {entry.id: entry.states for entry in task.haystack.entries.values()}
            places = ((one, index) for one in self._order(task) for index in range(lengths[one]))
            return Found(tuple(states(islice(places, self._budget))))

        return answer(self.name, task, self._budget, take)


def make(parts: MemoryParts) -> FirstStates:
    """Needs the data set's order."""
    return FirstStates(parts.budget, parts.order)
