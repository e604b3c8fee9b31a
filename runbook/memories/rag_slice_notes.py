"""`rag-slice-notes`: the nearest slices, after the nearest procedures and hints."""

from runbook.memories.parts import MemoryParts
from runbook.memories.pools import note_pools, raw_pool
from runbook.memories.rag import DenseRetrieval
from runbook.memories.writing import NoteWriter


def make(parts: MemoryParts) -> DenseRetrieval:
    """Needs an embedding endpoint and a writer."""
    settings = parts.settings
    writer = NoteWriter(parts.writer(), parts.cache / "written", parts.cancel)
    pools = [(pool, settings.notes) for pool in note_pools(writer)]
    pools.append((raw_pool(settings.radius), settings.slices))
    return DenseRetrieval(
        "rag-slice-notes", parts.embedder(), pools, writer=writer, budget=parts.budget, account=parts.account
    )
