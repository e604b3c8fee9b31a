"""The insert side of searching memories: each haystack once per process, and what it cost."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from manifests.store import Entry
from manifests.views import View
from runbook.embedding.embedder import Embedder
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.ledger import Account, Ledger
from runbook.gateway.budgets import tokens_of
from runbook.gateway.records import ModelCall
from runbook.gateway.tally import Tally
from runbook.memories.pools import Pool, PreparedPool, prepare_pool
from runbook.memories.writing import NoteWriter, Written
from runbook.memory import InsertCost

KEPT = 4  # haystacks that stay ready without a question that waits for them

P = TypeVar("P")
Prepare = Callable[[View, Ledger], tuple[P, InsertCost]]
"""Prepares a haystack; what its calls took is the ledger's to tell."""


@dataclass(frozen=True, slots=True)
class InsertSide:
    """What preparing a haystack took, and its model calls one by one."""

    cost: InsertCost
    calls: Sequence[ModelCall]


class Preparations(Generic[P]):
    """What a memory holds ready for its haystacks. Safe to use from several threads at once."""

    def __init__(self, prepare: Prepare[P], account: Account) -> None:
        self._prepare = prepare
        self._account = account
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}
        self._ready: OrderedDict[str, P] = OrderedDict()
        self._failed: dict[str, EndpointError] = {}
        self._sides: dict[str, InsertSide] = {}
        self._waiting: Counter[str] = Counter()

    def make(self, haystack: View) -> None:
        """Prepare a haystack for one query. A model's failure is kept for the query, whose outcome it is."""
        with self._lock:
            self._waiting[haystack.digest] += 1
            busy = self._busy.setdefault(haystack.digest, threading.Lock())
        with busy:
            if self._known(haystack.digest):
                return
            try:
                prepared = self._made(haystack)
            except EndpointError as error:
                with self._lock:
                    self._failed[haystack.digest] = error
                return
            with self._lock:
                self._failed.pop(haystack.digest, None)
                self._ready[haystack.digest] = prepared
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
        return self._made(haystack)  # asked without having been inserted

    def side(self, haystack: View) -> InsertSide | None:
        """What preparing took, also where it failed; told once."""
        with self._lock:
            return self._sides.pop(haystack.digest, None)

    def _made(self, haystack: View) -> P:
        begun, ledger, cost = time.monotonic(), self._account.insert(), InsertCost()
        try:
            prepared, cost = self._prepare(haystack, ledger)
        finally:
            told = cost.model_copy(update={"seconds": time.monotonic() - begun, **_calls(ledger)})
            with self._lock:
                self._sides[haystack.digest] = InsertSide(told, ledger.calls)
        return prepared

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
    haystack: View, pools: Sequence[Pool], embedder: Embedder, writer: NoteWriter | None, ledger: Ledger
) -> tuple[dict[str, PreparedPool], InsertCost]:
    """Write what is to be written about a haystack, embed its pools, and count what was done."""
    entries: list[Entry] = [haystack.entries[slug] for slug in sorted(haystack.entries)]
    written = writer.write(entries, ledger) if writer is not None else []
    ready: dict[str, PreparedPool] = {}
    texts = 0
    for pool in pools:
        ready[pool.name], embedded = prepare_pool(pool, entries, embedder, ledger)
        texts += embedded
    return ready, written_cost(written).model_copy(update={"embedded_texts": texts})


def written_cost(written: Sequence[Written]) -> InsertCost:
    """What was written, without what its calls took."""
    return InsertCost(
        written_trajectories=len(written),
        repaired_replies=sum(one.repaired for one in written),
        fallbacks=sum(one.fallbacks for one in written),
    )


def _calls(ledger: Ledger) -> dict[str, float | None]:
    """What asking took, by what it was for; a failed call tells no tokens, a reused one was paid before."""
    asked = [call for call in ledger.calls if not call.replayed]
    embedding = [call for call in asked if call.wire is None]
    writing = [call for call in asked if call.wire is not None]
    return {
        "embedding_calls": _requests(embedding),
        "embedding_tokens": _tokens(embedding),
        "writing_calls": _requests(writing),
        "writing_tokens": _tokens(writing),
        "cost_usd": _cost(asked),
    }


def _cost(calls: Sequence[ModelCall]) -> float | None:
    """USD; None where the price of any is unknown."""
    tally = Tally()
    for call in calls:
        tally.add(call)
    return tally.facts().cost_usd if calls else 0.0


def _requests(calls: Sequence[ModelCall]) -> int:
    return sum(1 + call.retries for call in calls)


def _tokens(calls: Sequence[ModelCall]) -> int | None:
    answered = [call for call in calls if call.outcome is None]
    if any(call.usage is None for call in answered):
        return None
    return sum(tokens_of(call.usage) for call in answered)
