"""One request of an agent and its answer, while it happens."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from runbook.gateway.budgets import NOTHING, Reserve
from runbook.gateway.refusals import Refusal
from runbook.gateway.routes import Kind, Route
from runbook.outcomes import Outcome

_LONGEST_NAME = 200


@dataclass(slots=True, eq=False)
class Exchange:
    """Filled in as the request is read, forwarded and answered; becomes a `ModelCall` at its end."""

    number: int
    method: str
    path: str
    """Below the route prefix, as sent."""
    query: str
    """Without the key."""
    route: Route | None
    started: float = field(default_factory=time.monotonic)
    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    headers: dict[str, str] = field(default_factory=dict)
    """Of the request, as the provider may see them."""
    body: bytes = b""
    request: Any = None
    """The body's JSON value; None where there was no body or it was no JSON."""
    weight: int = 0
    """Bytes of memory that the line counts for the request."""
    exact: bool = True
    """False where `request` does not say all that the body said."""
    requested_model: str | None = None
    reserved: Reserve = NOTHING
    """What budgets set aside for it."""

    asked: bool = False
    """True once the provider, or the recording, was asked; False for what the gateway answers alone."""
    status: int | None = None
    answer_headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    answer_size: int = 0
    """Bytes of all chunks."""
    stamps: list[float] = field(default_factory=list)
    """Seconds from the start at which each chunk was passed on."""
    ended_at: float | None = None
    last_traffic: float = field(default_factory=time.monotonic)
    waiting: bool = False
    """True while it is we who wait: for a slot, or before a retry."""
    retries: int = 0
    rate_limit_seconds: float = 0.0
    outcome: Outcome | None = None
    """Set where the gateway itself knows whose failure it is; the answer is judged otherwise."""
    detail: str = ""
    complete: bool = False
    """The agent has the whole answer."""
    broken: bool = False
    """The provider's stream broke off."""
    gone: str = ""
    """Why the agent's side ended before the answer did."""
    replayed: bool = False

    @property
    def generates(self) -> bool:
        """True where the request asks for a generation on a listed path."""
        return self.route is not None and self.route.kind is Kind.GENERATE

    @property
    def path_and_query(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    def passed_on(self, chunk: bytes) -> None:
        """Note a chunk that leaves for the agent."""
        self.last_traffic = time.monotonic()
        self.stamps.append(self.last_traffic - self.started)
        self.chunks.append(chunk)
        self.answer_size += len(chunk)

    def ended(self) -> None:
        """Note the end of the exchange, unless it is known already."""
        if self.ended_at is None:
            self.ended_at = time.monotonic() - self.started

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it is we who make the request wait."""
        self.waiting = True
        try:
            yield
        finally:
            self.waiting = False

    @contextmanager
    def rate_limited(self) -> Iterator[None]:
        """While the request waits because of a limit on its key, the provider's or ours."""
        began = time.monotonic()
        try:
            with self.held():
                yield
        finally:
            self.rate_limit_seconds += time.monotonic() - began

    def refused(self, refusal: Refusal, outcome: Outcome | None) -> None:
        """Note an answer of our own, and whose failure it stands for."""
        self.outcome = outcome
        self.detail = refusal.message

    def forget_request(self) -> None:
        """Keep of a refused request what a record needs: any part of it may be as large as an agent likes."""
        self.body, self.request = b"", None
        self.path, self.query = self.path[:_LONGEST_NAME], self.query[:_LONGEST_NAME]
        if self.requested_model is not None:
            self.requested_model = self.requested_model[:_LONGEST_NAME]

    def answer_header(self, name: bytes) -> str:
        """A response header, or ""."""
        return next((value.decode("latin-1") for key, value in self.answer_headers if key == name), "")
