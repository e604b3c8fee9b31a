"""Data sets, reader, judge, metrics and runs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.notebook import load_run

__all__ = ["load_run"]


def __getattr__(name: str) -> Any:
    """`load_run`, imported when it is asked for: every command imports this package."""
    if name == "load_run":
        from evals.notebook import load_run

        return load_run
    raise AttributeError(f"module 'evals' has no attribute {name!r}")
