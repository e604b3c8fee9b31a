"""`rag-slice-bm25`: the slices that share the question's words; needs no model at all."""

from manifests.index_parts import Tokeniser
from manifests.index_reading import ViewIndex
from manifests.views import View
from runbook.memories.answering import Found, answer
from runbook.memories.bm25 import best_slices
from runbook.memories.composing import retrieved
from runbook.memories.merging import Choice
from runbook.memories.parts import MemoryParts
from runbook.memories.pools import RAW
from runbook.memories.settings import RetrievalSettings
from runbook.memories.spans import window
from runbook.memory import QueryResult, QueryTask


class Bm25Retrieval:
    """Searches the index that every haystack has."""

    name = "rag-slice-bm25"

    def __init__(self, settings: RetrievalSettings, budget: int, tokeniser: Tokeniser) -> None:
        self._settings = settings
        self._budget = budget
        self._tokeniser = tokeniser

    def insert(self, haystack: View) -> None:
        """Nothing to prepare beside the index."""

    def query(self, task: QueryTask) -> QueryResult:
        """Confidence is the share of the score that a slice with every word of the question would have."""

        def search() -> Found:
            asked = task.question.text
            best = best_slices(
                ViewIndex(task.haystack.path, self._tokeniser.version),
                self._tokeniser.term_keys(self._tokeniser.terms(asked)),
                radius=self._settings.radius,
                most=self._settings.slices,
            )
            entries = task.haystack.entries
            spans = tuple(window(entries[one.slug], one.middle, self._settings.radius) for one in best)
            return Found(
                spans=spans,
                retrieved=tuple(
                    retrieved(Choice(RAW, asked, one.score, place), spans[place])
                    for place, one in enumerate(best)
                ),
                confidence=min(1.0, best[0].share) if best else 0.0,
            )

        return answer(self.name, task, self._budget, search)


def make(parts: MemoryParts) -> Bm25Retrieval:
    """Needs the index's rule for terms."""
    return Bm25Retrieval(parts.settings, parts.budget, parts.tokeniser)
