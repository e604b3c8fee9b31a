"""`agentrunbook-r`: a controller model writes queries for three pools, whose best pieces are merged.

Pools: slices of states (raw), an event for every two neighbouring states, a procedure and a hint for every
trajectory (notes). Each raw query brings its best slices; they are merged in turns. LongMemEval-V2, section 4
of its paper (arXiv:2605.12493), describes the method; code and prompts are our own.
"""

from collections.abc import Sequence
from pathlib import Path

from manifests.views import View
from runbook.embedding.embedder import Embedder
from runbook.embedding.recorded import RecordedCalls
from runbook.endpoint.chat import Endpoint
from runbook.endpoint.ledger import Account
from runbook.memories.answering import Found, QueryLog, answer
from runbook.memories.bundle import Bundle, bundle_for
from runbook.memories.composing import context_of
from runbook.memories.json_replies import JsonAsker
from runbook.memories.merging import Choice, round_robin
from runbook.memories.parts import MemoryParts
from runbook.memories.pools import (
    EVENTS,
    HINTS,
    PROCEDURES,
    RAW,
    Pool,
    PreparedPool,
    event_pool,
    note_pools,
    raw_pool,
)
from runbook.memories.preparing import Preparations, prepared_pools
from runbook.memories.settings import RetrievalSettings
from runbook.memories.writing import NoteWriter
from runbook.memory import QueryResult, QueryTask

_SUMMARY_FILE = "MANIFEST.md"


class ControlledRetrieval:
    """Searches the pools that the settings leave in."""

    name = "agentrunbook-r"

    def __init__(
        self,
        settings: RetrievalSettings,
        *,
        embedder: Embedder,
        controller: Endpoint,
        writer: NoteWriter | None,
        recorded: Path,
        seed: int,
        budget: int,
        account: Account,
    ) -> None:
        """`writer` is needed for events and notes; `recorded` is the folder of the controller's replies."""
        self._settings = settings
        self._embedder = embedder
        self._asker = JsonAsker(controller, RecordedCalls(recorded))
        self._seed = seed
        self._budget = budget
        self._account = account
        pools = _pools(settings, writer)
        self._prepared: Preparations[dict[str, PreparedPool]] = Preparations(
            lambda view, ledger: prepared_pools(view, pools, embedder, writer, ledger), account
        )

    def insert(self, haystack: View) -> None:
        """Write events and notes and embed all pools: only what is not there yet."""
        self._prepared.make(haystack)

    def query(self, task: QueryTask) -> QueryResult:
        """The controller and the embedding of its queries are on the clock."""

        log = QueryLog(self._account.query())

        def search() -> Found:
            ready = self._prepared.of(task.haystack)
            bundle = bundle_for(
                self._asker,
                task.question.text,
                _summary(task.haystack, self._settings.summary_characters),
                most=self._settings.raw_queries,
                seed=self._seed + task.repeat,
                log=log,
            )
            return context_of(task.haystack, ready, self._chosen(ready, bundle, log))

        insert = self._prepared.side(task.haystack)
        return answer(self.name, task, self._budget, search, log=log, insert=insert)

    def _chosen(self, ready: dict[str, PreparedPool], bundle: Bundle, log: QueryLog) -> list[Choice]:
        asked = {RAW: bundle.raw_queries, EVENTS: [bundle.event_query]}
        asked |= {pool: [bundle.note_query] for pool in (PROCEDURES, HINTS)}
        queries = list(dict.fromkeys(query for pool in ready for query in asked[pool]))
        vectors = self._embedder.query(queries, log.ledger)
        settings = self._settings
        most = {
            RAW: settings.slices,
            EVENTS: settings.events,
            PROCEDURES: settings.notes,
            HINTS: settings.notes,
        }
        chosen: list[Choice] = []
        for name, prepared in ready.items():
            rows = [queries.index(query) for query in asked[name]]
            ranked = [
                [Choice(name, query, hit.score, hit.place) for hit in hits]
                for query, hits in zip(asked[name], prepared.best(vectors[rows], most[name]), strict=True)
            ]
            per_query = settings.per_query if name == RAW else most[name]
            chosen += round_robin(ranked, most[name], per_query)
        return chosen


def _pools(settings: RetrievalSettings, writer: NoteWriter | None) -> Sequence[Pool]:
    chosen: list[Pool] = []
    if "raw" in settings.pools:
        chosen.append(raw_pool(settings.radius))
    if writer is not None and "events" in settings.pools:
        chosen.append(event_pool(writer))
    if writer is not None and "notes" in settings.pools:
        chosen += note_pools(writer)
    return chosen


def _summary(haystack: View, characters: int) -> str:
    """The haystack's orientation; "" where an ablation leaves it out."""
    try:
        return (haystack.path / _SUMMARY_FILE).read_text(encoding="utf-8")[:characters]
    except FileNotFoundError:
        return ""


def make(parts: MemoryParts) -> ControlledRetrieval:
    """Needs an embedding endpoint and a controller, and for events and notes a writer."""
    settings = parts.settings
    wants_writer = {"events", "notes"} & set(settings.pools)
    writer = NoteWriter(parts.writer(), parts.cache / "written", parts.cancel) if wants_writer else None
    return ControlledRetrieval(
        settings,
        embedder=parts.embedder(),
        controller=parts.controller(),
        writer=writer,
        recorded=parts.cache / "controller",
        seed=parts.seed,
        budget=parts.budget,
        account=parts.account,
    )
