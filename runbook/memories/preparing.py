"""The insert side of searching memories: each haystack once per process, and what it cost."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from manifests.store import Entry
from manifests.views import View
from runbook.embedding.embedder import Embedder, EmbeddingCost
from runbook.endpoint.errors import EndpointError
from runbook.memories.pools import Pool, PreparedPool, prepare_pool
from runbook.memories.writing import NoteWriter, Written
from runbook.memory import InsertCost

KEPT = 4  # haystacks that stay ready without a question that waits for them

P = TypeVar("P")
Prepare = Callable[[View], tuple[P, InsertCost]]


class Preparations(Generic[P]):
    """What a memory holds ready for its haystacks. Safe to use from several threads at once."""

    def __init__(self, prepare: Prepare[P]) -> None:
        self._prepare = prepare
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._ready: OrderedDict[str, P] = OrderedDict()
        self._failed: dict[str, EndpointError] = {}
        self._costs: dict[str, InsertCost] = {}
        self._waiting: Counter[str] = Counter()

    def make(self, haystack: View) -> None:
        """Prepare a haystack for one query. A model's failure is kept for the query, whose outcome it is."""
        with self._lock:
            self._waiting[haystack.digest] += 1
            busy = self._busy.setdefault(haystack.digest, threading.Lock())
        with busy:
            if self._known(haystack.digest):
                return
            begun = time.monotonic()
            try:
                prepared, cost = self._prepare(haystack)
            except EndpointError as error:
                with self._lock:
                    self._failed[haystack.digest] = error
                return
            with self._lock:
                self._failed.pop(haystack.digest, None)
                self._ready[haystack.digest] = prepared
                self._costs[haystack.digest] = cost.model_copy(update={"seconds": time.monotonic() - begun})
                self._put_away()

    def of(self, haystack: View) -> P:
        """What was prepared. Raises the EndpointError that preparing ended in."""
        with self._lock:
            self._waiting[haystack.digest] -= 1
            ready = self._ready.get(haystack.digest)
            failed = self._failed.get(haystack.digest)
            self._put_away()
        if ready is not None:
            return ready
        if failed is not None:
            raise failed
        return self._prepare(haystack)[0]  # asked without having been inserted

    def cost(self, haystack: View) -> InsertCost | None:
        """What preparing took; told once."""
        with self._lock:
            return self._costs.pop(haystack.digest, None)

    def _put_away(self) -> None:
        """Forget the haystacks used longest ago that no question waits for."""
        idle = [digest for digest in self._ready if self._waiting[digest] <= 0]
        for digest in idle[: max(0, len(idle) - KEPT)]:
            del self._ready[digest]
            del self._waiting[digest]

    def _known(self, digest: str) -> bool:
        with self._lock:
            if digest not in self._ready:
                return False
            self._ready.move_to_end(digest)
            return True


def prepared_pools(
    haystack: View, pools: Sequence[Pool], embedder: Embedder, writer: NoteWriter | None
) -> tuple[dict[str, PreparedPool], InsertCost]:
    """Write what is to be written about a haystack, embed its pools, and sum up the cost."""
    entries: list[Entry] = [haystack.entries[slug] for slug in sorted(haystack.entries)]
    written = writer.write(entries) if writer is not None else []
    ready: dict[str, PreparedPool] = {}
    cost = EmbeddingCost()
    for pool in pools:
        ready[pool.name], spent = prepare_pool(pool, entries, embedder)
        cost += spent
    return ready, _insert_cost(cost, written)


def _insert_cost(embedded: EmbeddingCost, written: Sequence[Written]) -> InsertCost:
    tokens = [one.tokens for one in written]
    return InsertCost(
        embedded_texts=embedded.texts,
        embedding_calls=embedded.calls,
        embedding_tokens=embedded.prompt_tokens,
        written_trajectories=len(written),
        writing_calls=sum(one.calls for one in written),
        writing_tokens=None if None in tokens else sum(one for one in tokens if one is not None),
        repaired_replies=sum(one.repaired for one in written),
        fallbacks=sum(one.fallbacks for one in written),
    )
