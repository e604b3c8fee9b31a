"""`rag-slice`: the slices of states nearest to the question."""

from runbook.memories.parts import MemoryParts
from runbook.memories.pools import raw_pool
from runbook.memories.rag import DenseRetrieval


def make(parts: MemoryParts) -> DenseRetrieval:
    """Needs an embedding endpoint."""
    settings = parts.settings
    pools = [(raw_pool(settings.radius), settings.slices)]
    return DenseRetrieval(
        "rag-slice", parts.embedder(), pools, writer=None, budget=parts.budget, account=parts.account
    )
