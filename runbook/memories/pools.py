"""What can be searched by vectors: pools of pieces of a haystack, embedded once per trajectory.

A pool is the same for a trajectory whatever the haystack. The keys of its vectors are kept per trajectory,
so that a haystack whose trajectories are known is ready without reading a single state.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manifests.store import Entry
from runbook.embedding.alone import alone
from runbook.embedding.cache import KEY_BYTES
from runbook.embedding.embedder import Embedder
from runbook.embedding.search import Hit, RowSearch, Vectors, packed
from runbook.endpoint.ledger import Ledger
from runbook.evidence import Span
from runbook.files import write_atomically
from runbook.memories.recordings import slice_texts
from runbook.memories.spans import window
from runbook.memories.writing import NoteWriter

RAW, EVENTS, PROCEDURES, HINTS = "raw", "events", "procedures", "hints"


@dataclass(frozen=True, slots=True)
class Pool:
    """One kind of piece of a trajectory."""

    name: str
    version: str
    """Changes with whatever changes the texts."""
    spans: Callable[[Entry], Sequence[Span]]
    """The pieces, by the states they are about; without reading any file."""
    texts: Callable[[Entry], Iterable[str]]
    """Their texts, in the same order."""


def raw_pool(radius: int) -> Pool:
    """A slice around every state."""

    def spans(entry: Entry) -> Sequence[Span]:
        return [window(entry, middle, radius) for middle in range(entry.states)]

    return Pool(RAW, raw_version(radius), spans, lambda entry: slice_texts(entry, spans(entry)))


def raw_version(radius: int) -> str:
    """Of the pool of slices."""
    return f"radius-{radius}"


def event_pool(writer: NoteWriter) -> Pool:
    """An event for every two neighbouring states."""
    return Pool(
        EVENTS,
        writer.name,
        lambda entry: [_states(entry, index, index + 1) for index in range(entry.states - 1)],
        lambda entry: writer.about(entry).events,
    )


def note_pools(writer: NoteWriter) -> tuple[Pool, Pool]:
    """Procedures and hints: one each for every trajectory."""

    def whole(entry: Entry) -> Sequence[Span]:
        return [_states(entry, 0, entry.states - 1)]

    return (
        Pool(PROCEDURES, writer.name, whole, lambda entry: [writer.about(entry).procedure]),
        Pool(HINTS, writer.name, whole, lambda entry: [writer.about(entry).hint]),
    )


def _states(entry: Entry, first: int, last: int) -> Span:
    return Span(trajectory_id=entry.id, start_state_index=first, end_state_index=last)


@dataclass(frozen=True, slots=True)
class PreparedPool:
    """The pieces of one pool in one haystack, with their vectors."""

    pool: Pool
    spans: Sequence[Span]
    search: RowSearch

    def best(self, queries: Vectors, most: int) -> list[list[Hit]]:
        """For each query the best pieces; `place` counts in `spans`."""
        return self.search.best(queries, most)


def prepare_pool(
    pool: Pool, entries: Sequence[Entry], embedder: Embedder, ledger: Ledger
) -> tuple[PreparedPool, int]:
    """Embed what is not embedded yet, and say how many texts that were.

    Raises EndpointError and OSError; what came before stays.
    """
    folder = pieces_folder(embedder.folder, pool.name, pool.version, embedder.max_input_tokens)
    keys: dict[str, list[bytes]] = {}
    embedded = 0
    if _missing(pool, entries, embedder, folder, keys):
        # Of several that want the same embedded, one does it and the others wait.
        with alone(folder, embedder.cancel):
            missing = _missing(pool, entries, embedder, folder, keys)
            embedded = embedder.embed(_prepared(pool, missing, embedder, keys), ledger)
            for entry in missing:
                write_atomically(folder / entry.slug, b"".join(keys[entry.slug]))
    rows = embedder.places([key for entry in entries for key in keys[entry.slug]])
    spans = [span for entry in entries for span in pool.spans(entry)]
    places = np.array(rows, dtype=np.int64)
    return PreparedPool(pool, spans, RowSearch(packed(embedder.matrix(), places, embedder.folder))), embedded


def _missing(
    pool: Pool, entries: Sequence[Entry], embedder: Embedder, folder: Path, keys: dict[str, list[bytes]]
) -> list[Entry]:
    """The trajectories of which a vector is missing; the keys of all others are noted by slug."""
    missing = []
    for entry in entries:
        known = _read_keys(folder / entry.slug, len(pool.spans(entry)))
        if known is None or None in embedder.places(known):
            missing.append(entry)
        else:
            keys[entry.slug] = known
    return missing


def pieces_folder(vectors: Path, pool: str, version: str, max_input_tokens: int) -> Path:
    """Where, beside a model's vectors, a file for each embedded trajectory holds the keys of its pieces."""
    told = f"{pool} {version} {max_input_tokens}"
    return vectors / "pieces" / hashlib.sha256(told.encode()).hexdigest()[:16]


def _prepared(
    pool: Pool, entries: Iterable[Entry], embedder: Embedder, keys: dict[str, list[bytes]]
) -> Iterator[tuple[bytes, str]]:
    """Keys and texts, as they are asked for; the keys are noted by slug on the way."""
    for entry in entries:
        own = keys.setdefault(entry.slug, [])
        for text in pool.texts(entry):
            key, cut = embedder.prepared(text)
            own.append(key)
            yield key, cut


def _read_keys(file: Path, count: int) -> list[bytes] | None:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) != count * KEY_BYTES:
        return None
    return [data[start : start + KEY_BYTES] for start in range(0, len(data), KEY_BYTES)]
