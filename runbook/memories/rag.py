"""Retrieval without a controller: the question itself is the query. The rows are `rag_slice*.py`."""

from collections.abc import Sequence

from manifests.views import View
from runbook.embedding.embedder import Embedder
from runbook.endpoint.ledger import Account
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
        account: Account,
    ) -> None:
        """`pools` are in the order of the context, each with how many pieces it brings."""
        self.name = name
        self._embedder = embedder
        self._pools = pools
        self._budget = budget
        self._account = account
        self._prepared: Preparations[dict[str, PreparedPool]] = Preparations(
            lambda view, ledger: prepared_pools(view, [pool for pool, _ in pools], embedder, writer, ledger),
            account,
        )

    def insert(self, haystack: View) -> None:
        """Embed, and where notes are wanted write them: only what is not there yet."""
        self._prepared.make(haystack)

    def query(self, task: QueryTask) -> QueryResult:
        """The embedding of the question is on the clock."""

        log = QueryLog(self._account.query())

        def search() -> Found:
            ready = self._prepared.of(task.haystack)
            vectors = self._embedder.query([task.question.text], log.ledger)
            choices: list[Choice] = []
            for pool, most in self._pools:
                hits = ready[pool.name].best(vectors, most)[0]
                choices += [Choice(pool.name, task.question.text, hit.score, hit.place) for hit in hits]
            return context_of(task.haystack, ready, choices)

        insert = self._prepared.side(task.haystack)
        return answer(self.name, task, self._budget, search, log=log, insert=insert)
