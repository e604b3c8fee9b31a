"""`oracle-slices-notes`: the gold evidence, after the notes about the trajectories it is from."""

from collections.abc import Callable

from manifests.views import View
from runbook.endpoint.ledger import Account, Ledger
from runbook.evidence import Span
from runbook.memories.answering import Found, answer
from runbook.memories.parts import MemoryParts
from runbook.memories.preparing import Preparations, written_cost
from runbook.memories.spans import window
from runbook.memories.writing import NoteWriter
from runbook.memory import InsertCost, QueryResult, QueryTask


class OracleWithNotes:
    """Slices around the gold states, with procedure and hint of their trajectories."""

    name = "oracle-slices-notes"

    def __init__(
        self,
        gold: Callable[[QueryTask], tuple[Span, ...] | None],
        writer: NoteWriter,
        radius: int,
        account: Account,
    ) -> None:
        self._gold = gold
        self._writer = writer
        self._radius = radius
        self._prepared: Preparations[None] = Preparations(self._write, account)

    def insert(self, haystack: View) -> None:
        """Write what nothing is written about yet."""
        self._prepared.make(haystack)

    def query(self, task: QueryTask) -> QueryResult:
        """Gold is not cut to a budget."""
        entries = {entry.id: entry for entry in task.haystack.entries.values()}
        spans = tuple(
            Span(
                trajectory_id=span.trajectory_id,
                start_state_index=window(
                    entries[span.trajectory_id], span.start_state_index, self._radius
                ).start_state_index,
                end_state_index=window(
                    entries[span.trajectory_id], span.end_state_index, self._radius
                ).end_state_index,
            )
            for span in self._gold(task) or ()
        )

        def search() -> Found:
            self._prepared.of(task.haystack)
            lines = []
            for name in dict.fromkeys(span.trajectory_id for span in spans):
                written = self._writer.about(entries[name])
                lines += [f"# Notes on trajectory {name}", "", written.procedure, "", written.hint, ""]
            return Found(spans, "\n".join(lines).strip())

        budget = max(1, sum(len(span.states) for span in spans))
        return answer(self.name, task, budget, search, insert=self._prepared.side(task.haystack))

    def _write(self, haystack: View, ledger: Ledger) -> tuple[None, InsertCost]:
        entries = [haystack.entries[slug] for slug in sorted(haystack.entries)]
        return None, written_cost(self._writer.write(entries, ledger))


def make(parts: MemoryParts) -> OracleWithNotes:
    """Needs gold and a writer."""
    writer = NoteWriter(parts.writer(), parts.cache / "written", parts.cancel)
    return OracleWithNotes(parts.gold, writer, parts.settings.radius, parts.account)
