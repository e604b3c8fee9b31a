"""Retrieval without a controller: the question itself is the query. The rows are `rag_slice*.py`."""

from collections.abc import Sequence

from manifests.views import View
from runbook.embedding.embedder import Embedder
from runbook.memories.answering import Found, QueryLog, answer
from runbook.memories.composing import context_of
from runbook.memories.merging import Choice
from runbook.memories.pools import Pool, PreparedPool
from runbook.memories.preparing import Preparations, prepared_pools
from runbook.memories.writing import NoteWriter
from runbook.memory import QueryResult, QueryTask


class DenseRetrieval:
    """The best pieces of some pools, by the vector of the question."""

    def __init__(
        self,
        name: str,
        embedder: Embedder,
        pools: Sequence[tuple[Pool, int]],
        *,
        writer: NoteWriter | None,
        budget: int,
    ) -> None:
        """`pools` are in the order of the context, each with how many pieces it brings."""
        self.name = name
        self._embedder = embedder
        self._pools = pools
        self._budget = budget
        self._prepared: Preparations[dict[str, PreparedPool]] = Preparations(
            lambda view: prepared_pools(view, [pool for pool, _ in pools], embedder, writer)
        )

    def insert(self, haystack: View) -> None:
        """Embed, and where notes are wanted write them: only what is not there yet."""
        self._prepared.make(haystack)

    def query(self, task: QueryTask) -> QueryResult:
        """The embedding of the question is on the clock."""

        def search(log: QueryLog) -> Found:
            ready = self._prepared.of(task.haystack)
            vectors, given = self._embedder.query([task.question.text])
            log.add(given)
            choices: list[Choice] = []
            for pool, most in self._pools:
                hits = ready[pool.name].best(vectors, most)[0]
                choices += [Choice(pool.name, task.question.text, hit.score, hit.place) for hit in hits]
            return context_of(task.haystack, ready, choices)

        return answer(self.name, task, self._budget, search, self._prepared.cost(task.haystack))
