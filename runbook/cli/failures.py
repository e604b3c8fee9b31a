"""Exit codes and one clear line for every error: 2 the user's mistake, 1 a failure, 130 Ctrl-C."""

import signal
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup

from runbook.cli.terminal import inert, terminal

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130


class Mistake(Exception):  # noqa: N818 - it is the user's, not the program's
    """Something the user can mend; the message says what and how."""


class Commands(TyperGroup):
    """A command group whose commands may raise any of our errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; an error ends the process with its line and code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            _say("interrupted; what was finished is kept")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            code = _code(error)
            if code is None:
                raise
            _say(f"error: {error}")
            raise typer.Exit(code) from None


def _code(error: Exception) -> int | None:
    """The exit code of one of our errors; None for a bug, which keeps its traceback."""
    from evals.dataset_files import DatasetError
    from evals.endpoint_errors import EndpointError
    from evals.runs.folder import RunError, RunFailure
    from manifests.errors import DataError, StoreError
    from runbook.agents import UnknownAgentError
    from sandbox.protocol import SandboxError

    if isinstance(error, RunFailure):
        return FAILURE
    if isinstance(error, (Mistake, DatasetError, DataError, RunError, UnknownAgentError)):
        return MISTAKE
    if isinstance(error, (StoreError, SandboxError, EndpointError, OSError)):
        return FAILURE
    return None


def _say(line: str) -> None:
    terminal(stderr=True).print(inert(line), markup=False)


def interrupt_on_terminate() -> None:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that containers and locks are released."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
