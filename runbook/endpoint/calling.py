"""Sending requests to one address: each retried within a time budget, every fault typed.

The openai package sends the requests; its own hidden retries are off. What it raises, and whatever a
provider answers, becomes one EndpointError whose outcome says whose fault it was.
"""

import re
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tenacity

from runbook.abandoning import AbandonedError, abandonable
from runbook.endpoint.completion import MalformedReply, ReportedError
from runbook.endpoint.config import Address
from runbook.endpoint.errors import EndpointError
from runbook.endpoint.faults import Fault, PatientWait, fault_of_error, fault_of_status
from runbook.gateway.keys import KeyMask
from runbook.outcomes import Outcome

if TYPE_CHECKING:
    from openai import APIResponse, OpenAI

MAX_REPLY_BYTES = 64 * 1024 * 1024
MAX_MALFORMED_REPLIES = 3
LONG_SECONDS = 10.0  # of failing and waiting, after which the user is told
REMARK_SECONDS = 60.0  # between two such remarks
_NO_KEY = "none"  # local servers take any key, and the openai package refuses to send none
_SHOWN_CHARACTERS = 300
_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What was read from a reply, and what it took to get it."""

    value: T
    seconds: float
    """Wall time of the request that succeeded."""
    calls: int
    """Requests sent, with those that failed."""
    waited_seconds: float
    """Time spent between requests."""
    rate_limit_seconds: float
    """The part of it that a rate limit asked for."""


@dataclass(slots=True)
class _Tally:
    """Counts over the requests of one call."""

    calls: int = 0
    malformed: int = 0
    waited: float = 0.0
    limited: float = 0.0
    """The part of `waited` that a rate limit asked for."""
    is_limited: bool = False
    """Whether the request before the next wait met a rate limit."""


class Caller:
    """Asks one address; safe to use from several threads at once.

    Args:
        address: where, with which key, and how patiently.
        error: the class of error to raise, so that an error says which stage it belongs to.
        cancel: when set, nothing is sent or waited for any more, and the error's outcome is `cancelled`.
        remark: told, at most once a minute, that a call goes on being repeated, and why.

    Raises:
        The error class, where the model's provider needs a key and there is none.
    """

    def __init__(
        self,
        address: Address,
        *,
        error: type[EndpointError] = EndpointError,
        cancel: threading.Event | None = None,
        remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        import openai  # takes a second to import

        self._address = address
        self._error = error
        self._cancel = cancel or threading.Event()
        self._remark = remark
        self._silent_until = 0.0
        self._key = address.key()
        if self._key is None and address.base_url is None:
            raise error(
                f"{address.model}: no key for the model's provider (set {address.api_key_variable})",
                outcome=Outcome.AUTH_ERROR,
            )
        if self._key is not None and not _fits_a_header(self._key):
            raise error(
                f"{address.model}: its key holds characters that no HTTP header can carry "
                f"(see {address.api_key_variable})",
                outcome=Outcome.AUTH_ERROR,
            )
        # A provider may echo what it was sent; the key must not get into a record that way.
        self._mask = KeyMask(self._key or "")
        self._client = openai.OpenAI(
            api_key=self._key or _NO_KEY,
            base_url=address.base_url,
            max_retries=0,
            timeout=openai.Timeout(address.timeout_seconds, connect=address.connect_seconds),
        )

    @property
    def base_url(self) -> str:
        """The address that requests go to."""
        return str(self._client.base_url)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self,
        send: "Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]",
        read: Callable[[bytes], T],
    ) -> Answered[T]:
        """Send a request and read its answer.

        Status 429, 5xx and broken connections are repeated within the time budget, at the time the provider
        names; malformed replies are asked for up to three times; other 4xx are not repeated.

        Args:
            send: makes the request, streaming.
            read: reads the body of an answer with status 200; raises MalformedReply or ReportedError.

        Raises the error class given to the constructor.
        """
        tally = _Tally()
        retrying = tenacity.Retrying(
            sleep=lambda seconds: self._pause(seconds, tally),
            stop=tenacity.stop_before_delay(self._address.retry_seconds),
            wait=PatientWait(self._address.backoff_seconds),
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, Fault) and error.retry),
            before_sleep=lambda state: self._tell(state, tally),
            reraise=True,
        )
        try:
            return retrying(self._request, send, read, tally)
        except Fault as fault:
            raise self._error(
                self._described(fault, tally),
                outcome=fault.outcome,
                status=fault.status,
                calls=tally.calls,
                rate_limit_seconds=tally.limited,
            ) from fault

    def _tell(self, state: tenacity.RetryCallState, tally: _Tally) -> None:
        """Note what the coming wait is for, and say so once that takes long."""
        fault = state.outcome.exception() if state.outcome else None
        tally.is_limited = isinstance(fault, Fault) and fault.outcome is Outcome.RATE_LIMITED
        waited = state.upcoming_sleep + (state.seconds_since_start or 0.0)
        now = time.monotonic()
        if not isinstance(fault, Fault) or waited < LONG_SECONDS or now < self._silent_until:
            return
        self._silent_until = now + REMARK_SECONDS
        self._remark(
            f"{self._described(fault, tally)}; tried again for up to {self._address.retry_seconds:.0f} s"
        )

    def _pause(self, seconds: float, tally: _Tally) -> None:
        began = time.monotonic()
        self._cancel.wait(seconds)
        waited = time.monotonic() - began
        tally.waited += waited
        tally.limited += waited if tally.is_limited else 0.0

    def _request(
        self,
        send: "Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]",
        read: Callable[[bytes], T],
        tally: _Tally,
    ) -> Answered[T]:
        if self._cancel.is_set():
            raise Fault("cancelled", Outcome.CANCELLED)
        tally.calls += 1
        began = time.monotonic()
        try:
            body = self._mask.whole(abandonable(lambda: self._body(send), self._cancel))
        except AbandonedError:
            raise Fault("cancelled", Outcome.CANCELLED) from None
        try:
            value = read(body)
        except MalformedReply as error:
            tally.malformed += 1
            raise Fault(str(error), retry=tally.malformed < MAX_MALFORMED_REPLIES) from error
        except ReportedError as error:
            raise fault_of_status(error.status or 500, str(error)) from error
        return Answered(value, time.monotonic() - began, tally.calls, tally.waited, tally.limited)

    def _body(self, send: "Callable[[OpenAI], AbstractContextManager[APIResponse[Any]]]") -> bytes:
        import openai

        deadline = time.monotonic() + self._address.timeout_seconds
        try:
            with send(self._client) as response:
                return _read_body(response, deadline)
        except openai.OpenAIError as error:
            raise fault_of_error(error) from error

    def _described(self, fault: Fault, tally: _Tally) -> str:
        """One printable line without the key, which some providers repeat in their complaints."""
        message = self._mask.whole(fault.message.encode("utf-8", "replace")).decode("utf-8", "replace")
        message = _UNPRINTABLE.sub(" ", message).strip()[:_SHOWN_CHARACTERS]
        asked = f", which asks to wait {fault.wait:.0f} s" if fault.wait is not None else ""
        return f"{self._address.model} at {self.base_url}{asked}: {message} ({tally.calls} requests)"


def _fits_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


def _read_body(response: "APIResponse[Any]", deadline: float) -> bytes:
    """The whole body; a server that sends it byte by byte does not outlive the deadline."""
    body = bytearray()
    chunks = response.iter_bytes()
    while True:
        try:
            chunk = next(chunks, None)
        except Exception as error:
            # Whichever HTTP library the openai package uses, a body that breaks off raises its exception.
            raise Fault(f"the reply broke off: {error}", Outcome.PROVIDER_ERROR, retry=True) from error
        if chunk is None:
            return bytes(body)
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            raise Fault(f"the reply is larger than {MAX_REPLY_BYTES // 2**20} MiB")
        if time.monotonic() > deadline:
            raise Fault("no whole answer in time", Outcome.PROVIDER_ERROR, retry=True)
