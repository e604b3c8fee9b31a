"""`random`: states drawn by chance, the floor of everything that chooses."""

import random

from manifests.views import View
from runbook.memories.answering import Found, answer
from runbook.memories.parts import MemoryParts
from runbook.memories.spans import states
from runbook.memory import QueryResult, QueryTask


class RandomStates:
    """As many states as the budget holds, each equally likely; the same for the same question and seed."""

    name = "random"

    def __init__(self, budget: int, seed: int) -> None:
        self._budget = budget
        self._seed = seed

    def insert(self, haystack: View) -> None:
        """Nothing to prepare."""

    def query(self, task: QueryTask) -> QueryResult:
        """Draw by the question's text, so that the draw knows nothing else of it."""

        def draw() -> Found:
            entries = sorted(task.haystack.entries.values(), key=lambda entry: entry.id)
            places = [(entry.id, index) for entry in entries for index in range(entry.states)]
            chance = random.Random(f"{self._seed}/{task.repeat}/{task.question.text}")
            return Found(tuple(states(chance.sample(places, min(self._budget, len(places))))))

        return answer(self.name, task, self._budget, draw)


def make(parts: MemoryParts) -> RandomStates:
    """Needs a seed."""
    return RandomStates(parts.budget, parts.seed)
