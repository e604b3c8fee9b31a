"""The memory controller: questions, evidence, contexts, attempts and agents.

`runbook.load_run("RUN")` opens a recorded run as tables, for notebooks.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.notebook import load_run

__all__ = ["load_run"]


def __getattr__(name: str) -> Any:
    """`load_run`, imported when it is asked for: it stands in `evals`, on which nothing here depends."""
    if name == "load_run":
        from evals.notebook import load_run

        return load_run
    raise AttributeError(f"module 'runbook' has no attribute {name!r}")
