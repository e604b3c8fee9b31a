"""When a request is sent again: 429, 5xx and connection errors, before anything reached the agent."""

import asyncio
import email.utils
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.wait import wait_random_exponential

from runbook.gateway.exchange import Exchange

T = TypeVar("T")

_BACKOFF = wait_random_exponential(multiplier=0.5, min=0.05, max=20)
_RATE_LIMITS = {429, 529}


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of the provider that has not been passed on."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class TemporaryError(Exception):
    """The provider failed in a way that may pass. `answer` is None where there was no connection."""

    def __init__(self, message: str, answer: Answer | None = None) -> None:
        super().__init__(message)
        self.answer = answer

    @property
    def rate_limited(self) -> bool:
        """True where the provider asked for patience."""
        return self.answer is not None and self.answer.status in _RATE_LIMITS


def may_pass(status: int, body: bytes) -> bool:
    """True where sending the same request again can help. An exhausted quota is a 429 that does not pass."""
    if status == 429 and b"insufficient_quota" in body:
        return False
    return status == 429 or status >= 500


def retry_after(headers: list[tuple[bytes, bytes]], now: datetime | None = None) -> float | None:
    """Seconds that the provider asked to wait, from `retry-after-ms` or `retry-after` (seconds or a date)."""
    values = {name.lower(): value.decode("latin-1").strip() for name, value in headers}
    for name, unit in ((b"retry-after-ms", 0.001), (b"retry-after", 1.0)):
        try:
            seconds = float(values.get(name, "")) * unit
        except ValueError:
            continue
        if not math.isnan(seconds):
            return max(0.0, seconds)
    try:
        date = email.utils.parsedate_to_datetime(values.get(b"retry-after", ""))
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


class Patience:
    """The wall time that retries of one line may take since its last success.

    An agent that retries by itself would otherwise get the whole time again with every request.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._failing_since: float | None = None

    def succeeded(self) -> None:
        """An answer arrived."""
        self._failing_since = None

    def failed(self) -> None:
        """A try failed."""
        if self._failing_since is None:
            self._failing_since = time.monotonic()

    def left(self) -> float:
        """Seconds that remain."""
        if self._failing_since is None:
            return self._seconds
        return max(0.0, self._seconds - (time.monotonic() - self._failing_since))


async def with_retries(
    once: Callable[[], Awaitable[T]],
    exchange: Exchange,
    patience: Patience,
    quiet_for: Callable[[float], None],
) -> T:
    """Call `once` until it succeeds or patience ends; `quiet_for` is told how long a rate limit lasts.

    Raises:
        TemporaryError: the last one.
    """

    def wait(state: RetryCallState) -> float:
        failure = _failure_of(state)
        asked = retry_after(failure.answer.headers) if failure.answer else None
        # Zero, or a time that is over, is no leave to ask as fast as the network carries it.
        return max(_BACKOFF(state), asked or 0.0)

    def stop(state: RetryCallState) -> bool:
        return state.upcoming_sleep >= patience.left() if patience.left() else True

    async def sleep(seconds: float) -> None:
        if limited:
            quiet_for(seconds)
        with exchange.rate_limited() if limited else exchange.held():
            await asyncio.sleep(seconds)

    limited = False

    async def one_try() -> T:
        nonlocal limited
        try:
            result = await once()
        except TemporaryError as failure:
            patience.failed()
            limited = failure.rate_limited
            raise
        patience.succeeded()
        return result

    def count(_: RetryCallState) -> None:
        exchange.retries += 1

    retrying: Any = AsyncRetrying(
        retry=retry_if_exception_type(TemporaryError),
        wait=wait,
        stop=stop,
        sleep=sleep,
        before_sleep=count,
        reraise=True,
    )
    result: T = await retrying(one_try)
    return result


def _failure_of(state: RetryCallState) -> TemporaryError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, TemporaryError)
    return error
