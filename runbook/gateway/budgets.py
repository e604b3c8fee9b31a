"""What was spent, and whether a budget allows more."""

import time

from runbook.gateway.records import ModelCall, Usage
from runbook.gateway.settings import Budget


class Spending:
    """Sums of an attempt or a run. Guarded by the caller: all changes come from the gateway's loop."""

    def __init__(self, budget: Budget, whose: str) -> None:
        self._budget = budget
        self._whose = whose
        self._opened = time.monotonic()
        self._calls = 0
        self._tokens = 0
        self._money = 0.0

    def count_in(self) -> None:
        """A call starts."""
        self._calls += 1

    def add(self, call: ModelCall) -> None:
        """Add what a call turned out to have used."""
        self._tokens += tokens_of(call.usage)
        self._money += call.cost_usd or 0.0

    def out_of_time(self) -> str:
        """Why, where the wall time is up; "" otherwise."""
        limit = self._budget.seconds
        if limit is not None and time.monotonic() - self._opened >= limit:
            return f"the {self._whose} budget of {limit:g} s is used up"
        return ""

    def exhausted(self) -> str:
        """Why a further call is not allowed; "" where it is."""
        budget = self._budget
        if budget.calls is not None and self._calls >= budget.calls:
            return f"the {self._whose} budget of {budget.calls} model calls is used up"
        if budget.tokens is not None and self._tokens >= budget.tokens:
            return f"the {self._whose} budget of {budget.tokens:,} tokens is used up ({self._tokens:,})"
        if budget.money_usd is not None and self._money >= budget.money_usd:
            return f"the {self._whose} budget of {budget.money_usd:g} USD is used up ({self._money:.2f})"
        return self.out_of_time()


def tokens_of(usage: Usage | None) -> int:
    """All tokens of a usage, as far as known."""
    if usage is None:
        return 0
    buckets = (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output)
    return sum(bucket or 0 for bucket in buckets)
