"""Exit codes and one clear line for every error: 2 the user's mistake, 1 a failure, 130 Ctrl-C."""

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from runbook.cli.streams import give_up_output
from runbook.cli.terminal import inert, terminal

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130
_USERS_OWN = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG}
)
"""What the system refuses because of a path that the user chose."""


class Mistake(Exception):  # noqa: N818 - it is the user's, not the program's
    """Something the user can mend; the message says what and how."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Let a Mistake that is made meanwhile begin with what it is about."""
    try:
        yield
    except Mistake as error:
        raise Mistake(f"{what}: {error}") from None


class Commands(TyperGroup):
    """A command group whose commands may raise any of our errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; an error ends the process with its line and code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_interrupted()) from None
        except typer.Exit:
            raise
        except Exception as error:
            code = _reported(error)
            if code is None:
                raise
            raise typer.Exit(code) from None


def said_plainly(run: Callable[[], int]) -> int:
    """The exit code of `run`, with what it printed written out; no error leaves as a traceback but a bug."""
    try:
        code = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        reported = _reported(error)
        if reported is None:
            raise
        return reported
    return code


def refuse_surroundings(arguments: Sequence[str]) -> None:
    """Raise Mistake where nothing can work: the current folder is gone, or an argument is not UTF-8."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        raise Mistake("the current folder is not there any more: cd to another one") from None
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise Mistake(
                f"argument {number} ({argument!r}) is not UTF-8: write or name it in UTF-8"
            ) from None


def _interrupted() -> int:
    _say("interrupted; what was finished is kept")
    return INTERRUPTED


def _reported(error: Exception) -> int | None:
    """The exit code of one of our errors, which is said; None for a bug, which keeps its traceback."""
    if isinstance(error, BrokenPipeError) and error.filename is None:
        give_up_output()  # a reader such as `head` has seen enough; there is nobody to tell
        return FAILURE
    code = _code(error)
    if code is not None:
        _say(f"error: {_line(error)}")
    if isinstance(error, OSError):
        with suppress(OSError):
            sys.stdout.flush()
        give_up_output()  # what could not be printed would be tried again when Python ends
    return code


def _line(error: Exception) -> str:
    from pydantic import ValidationError

    from runbook.complaints import of_system, of_validation

    if isinstance(error, ValidationError):
        return of_validation(error)
    return of_system(error) if isinstance(error, OSError) else str(error)


def _code(error: Exception) -> int | None:
    from pydantic import ValidationError

    from evals.dataset_files import DatasetError
    from evals.runs.folder import RunError, RunFailure
    from manifests.errors import DataError, StoreError, WrongStoreError
    from runbook.agents import InstallError, UnknownAgentError
    from runbook.endpoint.errors import EndpointError
    from runbook.memories.errors import MemorySettingsError
    from sandbox.protocol import SandboxError

    if isinstance(error, RunFailure):
        return FAILURE
    if isinstance(error, (Mistake, DatasetError, DataError, RunError, UnknownAgentError, ValidationError)):
        return MISTAKE
    if isinstance(error, MemorySettingsError):
        return MISTAKE
    if isinstance(error, WrongStoreError):
        return MISTAKE
    if isinstance(error, OSError):
        return MISTAKE if error.errno in _USERS_OWN else FAILURE
    if isinstance(error, (StoreError, SandboxError, EndpointError, InstallError)):
        return FAILURE
    return None


def _say(line: str) -> None:
    with suppress(OSError):  # where standard error is gone, too, the exit code has to do
        terminal(stderr=True).print(inert(line), markup=False)
