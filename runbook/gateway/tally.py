"""The sum of an attempt's calls, kept up to date while they come in."""

import threading
import time

from runbook.gateway.budgets import tokens_of
from runbook.gateway.records import ModelCall, Usage, WireFacts
from runbook.outcomes import Outcome

_BUCKETS = ("fresh_input", "cache_read", "cache_write", "output", "reasoning")


class Tally:
    """Written by the gateway's threads and read by any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts = WireFacts()
        self._opened = time.monotonic()
        self._open_calls = 0
        self._busy_since = 0.0
        self._busy_seconds = 0.0
        self._cost_known = True
        self._last_number = 0
        self._over_budget = ""

    def call_opened(self) -> None:
        """A generation was asked for."""
        with self._lock:
            if self._open_calls == 0:
                self._busy_since = time.monotonic()
            self._open_calls += 1

    def call_ended(self, first_byte: float | None) -> None:
        """Its answer ended; `first_byte` is the monotonic time at which it began."""
        with self._lock:
            self._open_calls -= 1
            if self._open_calls == 0:
                self._busy_seconds += time.monotonic() - self._busy_since
            if first_byte is not None:
                seconds = first_byte - self._opened
                earlier = self._facts.first_byte_seconds
                self._facts.first_byte_seconds = seconds if earlier is None else min(seconds, earlier)

    def refuse_for_budget(self, why: str) -> None:
        """A call was answered with the budget's end."""
        with self._lock:
            self._over_budget = self._over_budget or why

    @property
    def over_budget(self) -> str:
        return self._over_budget

    def add(self, call: ModelCall) -> None:
        """Add a finished generation."""
        with self._lock:
            self._add(call)

    def refused(self, call: ModelCall) -> None:
        """Note a generation that never reached the provider: it counts only where no other one did."""
        with self._lock:
            if self._facts.calls == 0:
                self._facts.failure, self._facts.detail = call.outcome, call.detail

    def facts(self) -> WireFacts:
        """A copy of the sums as of now."""
        with self._lock:
            facts = self._facts.model_copy(deep=True)
            running = time.monotonic() - self._busy_since if self._open_calls else 0.0
            facts.model_seconds = self._busy_seconds + running
            if self._over_budget:
                facts.failure, facts.detail = Outcome.BUDGET_EXCEEDED, self._over_budget
            return facts

    def _add(self, call: ModelCall) -> None:
        facts = self._facts
        facts.calls += 1
        facts.failed_calls += call.outcome is not None
        facts.reused_calls += call.replayed
        facts.tool_calls += len(call.tool_calls)
        facts.rate_limit_seconds += call.rate_limit_seconds
        facts.retries += call.retries
        for names, name in (
            (facts.requested_models, call.requested_model),
            (facts.actual_models, call.actual_model),
        ):
            if name and name not in names:
                names.append(name)
        if call.usage is None:
            facts.usage_unknown_calls += 1
        else:
            facts.usage = _sum(facts.usage, call.usage)
        facts.estimated_tokens += tokens_of(call.estimated_usage)
        self._add_cost(call)
        if call.number > self._last_number:
            self._last_number = call.number
            facts.failure, facts.detail = call.outcome, call.detail

    def _add_cost(self, call: ModelCall) -> None:
        if call.abandoned and call.cost_usd is None:
            self._facts.abandoned_calls += 1
            return
        if call.cost_usd is None and (call.status is None or call.status < 400):
            self._cost_known = False
        if self._cost_known:
            self._facts.cost_usd = (self._facts.cost_usd or 0.0) + (call.cost_usd or 0.0)
        else:
            self._facts.cost_usd = None


def _sum(one: Usage, other: Usage) -> Usage:
    """Bucket by bucket; unknown and known is known."""
    sums = {}
    for bucket in _BUCKETS:
        known = [count for count in (getattr(one, bucket), getattr(other, bucket)) if isinstance(count, int)]
        sums[bucket] = sum(known) if known else None
    return Usage(**sums)
