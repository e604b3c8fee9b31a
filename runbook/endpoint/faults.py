"""One request that failed: whose fault it was, whether it is worth another try, and when."""

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tenacity

from runbook.outcomes import Outcome

if TYPE_CHECKING:
    import openai

LONGEST_BACKOFF_SECONDS = 60.0
_WORTH_RETRYING = frozenset({408, 409, 425, 429})
_OUT_OF_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(slots=True)
class Fault(Exception):  # noqa: N818 (it never leaves the endpoint)
    """Why one request gave no reply.

    `outcome` None is the stage's own. `wait` is the time, in seconds, that the provider asks to wait.
    """

    message: str
    outcome: Outcome | None = None
    status: int | None = None
    retry: bool = False
    wait: float | None = None


def fault_of_status(
    status: int, message: str, *, code: str | None = None, wait: float | None = None
) -> Fault:
    """The fault that an HTTP status stands for; `code` is the provider's own name of the error."""
    return Fault(
        message=message,
        outcome=_outcome(status),
        status=status,
        retry=(status in _WORTH_RETRYING or status >= 500) and code not in _OUT_OF_CREDIT,
        wait=wait,
    )


def _outcome(status: int) -> Outcome | None:
    if status in (401, 402, 403):
        return Outcome.AUTH_ERROR
    if status == 429:
        return Outcome.RATE_LIMITED
    if status in _WORTH_RETRYING or status >= 500:
        return Outcome.PROVIDER_ERROR
    return None


def fault_of_error(error: "openai.OpenAIError") -> Fault:
    """The fault that an exception of the openai package stands for."""
    import openai

    if isinstance(error, openai.APIStatusError):
        wait = _asked_wait(error.response.headers)
        return fault_of_status(error.status_code, error.message, code=error.code, wait=wait)
    if isinstance(error, openai.APITimeoutError):
        return Fault("no answer in time", Outcome.PROVIDER_ERROR, retry=True)
    if isinstance(error, openai.APIConnectionError):
        cause = f": {error.__cause__}" if error.__cause__ else ""
        return Fault(f"no connection{cause}", Outcome.PROVIDER_ERROR, retry=True)
    return Fault(f"{type(error).__name__}: {error}")


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from Retry-After, which may be milliseconds, seconds, or a date; None without one."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if value.replace(".", "", 1).isdecimal():
            return float(value) * unit
    try:
        asked = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, asked.timestamp() - time.time())


class PatientWait(tenacity.wait.wait_base):
    """As long as the provider asks for, a little scattered; else random and growing from one step."""

    def __init__(self, step_seconds: float) -> None:
        self._growing = tenacity.wait_random_exponential(multiplier=step_seconds, max=LONGEST_BACKOFF_SECONDS)
        self._step = step_seconds

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        if isinstance(error, Fault) and error.wait is not None:
            # Many threads are told the same time; together they would only be limited again.
            return error.wait + random.uniform(0, self._step)
        return self._growing(retry_state)
