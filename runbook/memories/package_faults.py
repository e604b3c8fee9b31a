"""What a package's code raises: anything, as a line that can be printed and written."""

import errno
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from runbook.complaints import of_any
from runbook.endpoint.errors import EndpointError
from runbook.outcomes import Outcome

TRACEBACK_CHARACTERS = 200_000
ANSWERS = (Outcome.OK, Outcome.EMPTY_VALID)
_IMPORTING = "<frozen importlib"
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """What was raised."""

    error: BaseException

    @property
    def outcome(self) -> Outcome:
        """Of a question that it was the end of."""
        told = getattr(self.error, "outcome", None) if isinstance(self.error, EndpointError) else None
        return told if isinstance(told, Outcome) and told not in ANSWERS else Outcome.SANDBOX_ERROR


def caught(work: Callable[[], T]) -> T | Fault:
    """What the work returns, or what it raises, whatever that is.

    Only for work in a thread of its own: in the main thread a KeyboardInterrupt may be the user's.
    """
    try:
        return work()
    except BaseException as error:
        return Fault(error)


def raise_full_disk(error: BaseException) -> None:
    """Raise what no further question would survive, and what a run waits for."""
    if isinstance(error, OSError) and error.errno in _DISK_FULL:
        raise error


def fault_line(error: BaseException) -> str:
    """The exception in a line of UTF-8, with the place where it was raised."""
    kind = type(error).__name__
    said = said_by(error)
    text = kind if said == kind else f"{kind}: {said}"
    frames = [
        one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_IMPORTING)
    ]
    return _written(f"{text} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else text)


def said_by(error: BaseException) -> str:
    """What the exception says, in a line of UTF-8; its kind where it cannot say anything."""
    try:
        return _written(of_any(error))
    except BaseException:  # its own code may raise anything, too
        return _written(type(error).__name__)


def traceback_of(error: BaseException) -> bytes:
    """Its end where it is long."""
    lines = "".join(traceback.format_exception(error))[-TRACEBACK_CHARACTERS:]
    return lines.encode("utf-8", "replace")


def _written(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
