"""What memories are made from. The composition root fills it; a memory takes what it needs."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from manifests.index_parts import Tokeniser
from runbook.embedding.embedder import Embedder
from runbook.endpoint.chat import Endpoint
from runbook.endpoint.ledger import Account
from runbook.evidence import Span
from runbook.memories.settings import RetrievalSettings
from runbook.memory import Memory, QueryTask


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Parts that open something are functions, so that a memory that does not need them costs nothing."""

    settings: RetrievalSettings
    seed: int
    budget: int
    """Distinct states that the evidence may hold."""
    cache: Path
    """Insert-side work is kept below this folder, by content."""
    cancel: threading.Event
    account: Account
    """What may be spent on models, and where that is told."""
    order: Callable[[QueryTask], tuple[str, ...]]
    """The ids of a question's haystack, in the data set's order."""
    gold: Callable[[QueryTask], tuple[Span, ...] | None]
    """The gold spans of a question, one for each piece; None where nobody knows them."""
    tokeniser: Tokeniser
    """The rule that the index is made by."""
    embedder: Callable[[], Embedder]
    """Raises MemorySettingsError where no embedding endpoint is configured."""
    controller: Callable[[], Endpoint]
    writer: Callable[[], Endpoint]
    other: Callable[[str], Memory]
    """Another memory by name, of the same run."""


MemoryFactory = Callable[[MemoryParts], Memory]
"""What an entry point of the group `runbook.memories` names."""
