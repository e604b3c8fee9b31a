"""What model calls took that no gateway saw: recorded, priced and held to budgets as the gateway does.

These calls are our own, made in this process through the openai package. Nobody has to be kept from keys and
networks, so the gateway would only add a hop, a second layer of retries, and a copy of all texts and vectors
of a haystack in its record. The rest is shared with it: records (ModelCall), prices, budgets, outcomes.

An account is a run's; a ledger is that of one query, or of preparing one haystack.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from runbook.endpoint.errors import EndpointError
from runbook.endpoint.usage import Usage
from runbook.files import write_atomically
from runbook.gateway.budgets import NOTHING, Spending
from runbook.gateway.models import same_model
from runbook.gateway.prices import Price, Prices, refuse_unpriced
from runbook.gateway.records import ModelCall, Wire, WireFacts
from runbook.gateway.records import Usage as WireUsage
from runbook.gateway.settings import GatewaySettings
from runbook.gateway.tally import Tally
from runbook.outcomes import Outcome

_OWN_ADDRESS = "https://api.openai.com/v1"  # of the openai package, where none is given
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: to whom, and what."""

    model: str
    base_url: str | None
    path: str
    """Below `base_url`."""
    characters: int
    """Of all its texts."""
    wire: Wire | None = None
    """None for embeddings, which generate nothing."""


@dataclass(frozen=True, slots=True)
class Took:
    """What an answer took, and what it said in words."""

    seconds: float
    """Retries and waits included."""
    calls: int
    usage: Usage
    rate_limit_seconds: float = 0.0
    model: str | None = None
    """Who answered, as the reply says."""
    text: str = ""


class Answer(Protocol):
    """Anything that knows what it took."""

    @property
    def took(self) -> Took: ...


A = TypeVar("A", bound=Answer)


class Account:
    """What a run's memory may spend on its own model calls. Safe to use from several threads at once.

    Budgets are looked at before each call, so that those open at the same time may go over. An agent that is
    asked as well, as in a cascade, has the gateway's budgets beside these.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        """Raises GatewayError where the price table cannot be read."""
        self._settings = settings
        self._prices = Prices.read(settings.prices)
        self._run = Spending(settings.run_budget, "run's")
        self._lock = threading.Lock()

    def query(self) -> "Ledger":
        """The ledger of one query, with the budgets of an attempt and of the run."""
        return Ledger(self, (Spending(self._settings.attempt_budget, "attempt's"),), self._run)

    def insert(self) -> "Ledger":
        """The ledger of preparing one haystack, with the budget of the run."""
        return Ledger(self, (), self._run)

    def refuse_unpriced(self, model: str) -> None:
        """Raise GatewayError where a budget in money alone could not be kept."""
        refuse_unpriced(self._settings.budgets, self._prices, [model])

    def price(self, *models: str | None) -> Price | None:
        """The price of the first of the models that has one."""
        return next((price for model in models if (price := self._prices.of(model))), None)

    def judge_model(self, call: ModelCall) -> None:
        """Say of a call whether another model answered than was asked, as the settings want it said."""
        asked, answered, wanted = call.requested_model, call.actual_model, self._settings.mismatch
        if not asked or not answered or same_model(asked, answered) or wanted == "allow":
            return
        call.detail = (
            f"{answered} answered in place of {asked}; where it is the same, set gateway.mismatch=allow"
        )
        if wanted == "fail":
            call.outcome = Outcome.MODEL_MISMATCH

    def refuse_asking(self) -> None:
        """Raise EndpointError where no model may be asked at all."""
        if self._settings.replay is not None:
            raise EndpointError(
                "a replayed run asks no model, and the answer to this is not among the recorded ones"
            )

    def enter(self, limits: tuple[Spending, ...]) -> None:
        """Count a call in. Raises EndpointError where a budget is used up."""
        with self._lock:
            if why := next((why for one in limits if (why := one.exhausted())), ""):
                raise EndpointError(why, outcome=Outcome.BUDGET_EXCEEDED)
            for one in limits:
                one.count_in(NOTHING)

    def leave(self, limits: tuple[Spending, ...], call: ModelCall) -> None:
        """Add what a call took."""
        with self._lock:
            for one in limits:
                one.add(call)


class Ledger:
    """The calls of one query, or of preparing one haystack. Safe to use from several threads at once.

    Its own budgets count all calls, asked or reused: an outcome must not depend on what happens to be cached.
    The run's is about what is really spent, and counts only what is asked.
    """

    def __init__(self, account: Account, own: tuple[Spending, ...], run: Spending) -> None:
        self._account = account
        self._own = own
        self._all = (*own, run)
        self._tally = Tally()
        self._lock = threading.Lock()
        self.calls: list[ModelCall] = []
        """In the order in which they ended; numbers are in that order."""

    def ask(self, asked: Asked, send: Callable[[], A]) -> A:
        """Have a request sent, if the budgets allow it, and note what came of it.

        Raises EndpointError: what `send` raises, a budget that is used up, or another model's answer.
        """
        self._account.refuse_asking()
        self._account.enter(self._all)
        begun, requested_at = time.monotonic(), datetime.now(UTC)
        try:
            answer = send()
        except EndpointError as error:
            failed = _outline(asked, requested_at)
            failed.last_byte_seconds = time.monotonic() - begun
            failed.status, failed.outcome, failed.detail = error.status, error.outcome, str(error)
            failed.retries = max(0, error.calls - 1)
            failed.rate_limit_seconds = error.rate_limit_seconds
            self._account.leave(self._all, failed)
            self._note(failed)
            raise
        call = self._described(asked, answer.took, requested_at)
        self._account.leave(self._all, call)
        self._note(call)
        return answer

    def reuse(self, asked: Asked, answer: Answer) -> None:
        """Note an answer that was recorded earlier: it takes what it took then, also of the own budgets.

        Raises EndpointError where another model had answered, or such a budget is used up.
        """
        self._account.enter(self._own)
        call = self._described(asked, answer.took, datetime.now(UTC))
        call.replayed = True
        for one in self._own:
            one.age(answer.took.seconds)
        self._account.leave(self._own, call)
        self._note(call)

    def facts(self) -> WireFacts | None:
        """The sum of the calls, as the gateway tells of an agent's; None without calls."""
        if not self.calls:
            return None
        facts = self._tally.facts()
        facts.model_seconds = sum(call.last_byte_seconds or 0.0 for call in self.calls)
        return facts

    def _described(self, asked: Asked, took: Took, requested_at: datetime) -> ModelCall:
        call = _outline(asked, requested_at)
        call.status, call.last_byte_seconds = 200, took.seconds
        call.retries, call.rate_limit_seconds = max(0, took.calls - 1), took.rate_limit_seconds
        call.actual_model, call.text = took.model, took.text
        usage = wire_usage(took.usage)
        call.usage = None if usage == WireUsage() else usage
        price = self._account.price(took.model, asked.model)
        call.cost_usd = price.cost(usage) if price else None
        call.estimated_usage = _untold(asked, took, usage)
        if price and call.estimated_usage:
            call.estimated_cost_usd = price.cost(call.estimated_usage)
        self._account.judge_model(call)
        return call

    def _note(self, call: ModelCall) -> None:
        with self._lock:
            call.number = len(self.calls) + 1
            self.calls.append(call)
            self._tally.add(call)
        if call.outcome is Outcome.MODEL_MISMATCH:
            raise EndpointError(call.detail, outcome=call.outcome)


def _outline(asked: Asked, requested_at: datetime) -> ModelCall:
    address = urlsplit(asked.base_url or _OWN_ADDRESS)
    return ModelCall(
        number=1,
        wire=asked.wire,
        provider=address.netloc,
        method="POST",
        path=address.path.rstrip("/") + asked.path,
        requested_at=requested_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        requested_model=asked.model,
    )


def _untold(asked: Asked, took: Took, usage: WireUsage) -> WireUsage | None:
    """What an answer did not tell of, by the length of texts; None where it told all."""
    if usage.fresh_input is not None and usage.output is not None:
        return None
    entered = asked.characters if usage.fresh_input is None else 0
    said = len(took.text) if usage.output is None else 0
    return WireUsage(fresh_input=entered // _CHARACTERS_A_TOKEN, output=said // _CHARACTERS_A_TOKEN)


def write_calls(file: Path, calls: Sequence[ModelCall]) -> None:
    """One line a call, as the gateway writes them; the folder must be there. Raises OSError."""
    lines = (call.model_dump_json(exclude_defaults=True).encode() + b"\n" for call in calls)
    write_atomically(file, b"".join(lines))


def wire_usage(usage: Usage) -> WireUsage:
    """The same counts in the gateway's buckets, which do not overlap."""
    fresh = usage.prompt_tokens
    if fresh is not None and usage.cached_tokens is not None:
        fresh = max(0, fresh - usage.cached_tokens)
    return WireUsage(
        fresh_input=fresh,
        cache_read=usage.cached_tokens,
        output=usage.completion_tokens,
        reasoning=usage.reasoning_tokens,
    )
