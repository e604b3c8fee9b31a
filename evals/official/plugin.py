"""The class that the public harness knows us by."""

import threading
from pathlib import Path
from typing import Any

from evals.official.backend import Backend, public_items
from runbook.question import Question

MEMORY_TYPE = "runbook_controller"


def memory_class(base: Any, backend: Backend) -> Any:
    """A class for the harness's registry, whose instances answer through the backend.

    It sees what its own methods are given and nothing else: the harness also offers a query context, which
    holds the question's gold answer, and it is never asked for it.

    Args:
        base: the harness's own base class of memories.
    """

    class RunbookMemory(base):  # type: ignore[misc]
        """One haystack, filled by `insert`."""

        memory_type = MEMORY_TYPE

        def __init__(self, memory_params: dict[str, object]) -> None:
            super().__init__(memory_params)
            self._traces = Path(str(memory_params["traces"]))
            self._inserted: dict[str, None] = {}
            self._cancel = threading.Event()

        def configure_runtime(self, **kwargs: object) -> None:
            """Take the event by which the harness says that the user stopped it."""
            cancel = kwargs.get("cancel_event")
            if isinstance(cancel, threading.Event):
                self._cancel = cancel

        def insert(self, trajectory: dict[str, object]) -> None:
            """Take a trajectory, by its id: its content is imported already."""
            trajectory_id = str(trajectory["id"])
            backend.slug(trajectory_id)
            self._inserted[trajectory_id] = None
            backend.make_ready(list(self._inserted))

        def query(self, query: str, query_image: str | None = None) -> list[dict[str, str]]:
            """The memory context for a question."""
            question = Question(text=query, image=Path(query_image) if query_image else None)
            context = backend.answer(question, list(self._inserted), self._traces, self._cancel)
            return public_items(context)

    return RunbookMemory
