"""What the plug-in needs of this project to answer the public harness."""

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from evals.runs.records import is_scoreless
from manifests.views import View
from runbook.context import MemoryContext, TextItem
from runbook.files import write_json
from runbook.memory import Memory, QueryTask
from runbook.question import Question


class OfficialError(Exception):
    """The public harness cannot go on with us; the message says why."""


class QueryFailure(OfficialError):  # noqa: N818 - nobody's mistake
    """A query ended in an infrastructure failure, which the harness would take for a wrong answer."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One for all haystacks and threads of a harness run."""

    memory: Memory
    open_view: Callable[[Sequence[str]], AbstractContextManager[View]]
    """The view of these slugs, index ready."""
    slugs: Mapping[str, str]
    """Of every trajectory that may be inserted, by its id."""
    haystacks: frozenset[frozenset[str]]
    """The trajectory ids of each haystack of the run: a complete one gets its view at once, off the clock."""

    def slug(self, trajectory_id: str) -> str:
        """Raises OfficialError for a trajectory that was not imported."""
        try:
            return self.slugs[trajectory_id]
        except KeyError:
            raise OfficialError(
                f"the harness inserts trajectory {trajectory_id!r}, which the data root does not have"
            ) from None

    def make_ready(self, inserted: Sequence[str]) -> None:
        """Do the insert-side work where these trajectories are a whole haystack; until then nothing."""
        if frozenset(inserted) in self.haystacks:
            with self.open_view([self.slug(one) for one in inserted]) as view:
                self.memory.insert(view)

    def answer(
        self, question: Question, inserted: Sequence[str], traces: Path, cancel: threading.Event
    ) -> MemoryContext:
        """The memory context for a question; what happened is kept in a folder of its own in `traces`.

        Raises:
            QueryFailure: an infrastructure failure; the run cannot go on.
        """
        folder = traces / uuid.uuid4().hex
        folder.mkdir(parents=True)
        with self.open_view([self.slug(one) for one in inserted]) as view:
            result = self.memory.query(
                QueryTask(
                    question=question,
                    haystack=view,
                    folder=folder,
                    cancel=cancel,
                    labels={"run": str(traces), "question": folder.name},
                )
            )
        write_json(folder / "query.json", result)
        if is_scoreless(result.outcome):
            detail = result.attempts[-1].detail if result.attempts else ""
            raise QueryFailure(
                f"{result.outcome.value}: {detail or 'no detail'}; this is nobody's answer, so the run stops "
                f"here rather than count it ({folder})"
            )
        return result.context


def public_items(context: MemoryContext) -> list[dict[str, str]]:
    """The context as the harness takes it; it refuses items of white space, which say nothing anyway."""
    return [
        {"type": "text", "value": item.text}
        if isinstance(item, TextItem)
        else {"type": "image", "value": item.path}
        for item in context.items
        if not isinstance(item, TextItem) or item.text.strip()
    ]
