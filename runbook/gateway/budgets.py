"""What was spent, and whether a budget allows more."""

import time
from dataclasses import dataclass

from runbook.gateway.records import ModelCall, Usage
from runbook.gateway.settings import Budget


@dataclass(frozen=True, slots=True)
class Reserve:
    """What is set aside for calls that are open."""

    calls: int = 0
    tokens: int = 0
    money_usd: float = 0.0

    def __add__(self, other: "Reserve") -> "Reserve":
        return Reserve(self.calls + other.calls, self.tokens + other.tokens, self.money_usd + other.money_usd)

    def __sub__(self, other: "Reserve") -> "Reserve":
        return Reserve(self.calls - other.calls, self.tokens - other.tokens, self.money_usd - other.money_usd)


NOTHING = Reserve()


class Spending:
    """Sums of an attempt or a run. Guarded by the caller: all changes come from the gateway's loop."""

    def __init__(self, budget: Budget, whose: str) -> None:
        self._budget = budget
        self._whose = whose
        self._opened = time.monotonic()
        self._calls = 0
        self._tokens = 0
        self._estimated = 0
        self._money = 0.0
        self._reserved = NOTHING

    def count_in(self, reserved: "Reserve") -> None:
        """A call starts, for which so much is set aside until it is settled."""
        self._calls += 1
        self._reserved += reserved

    def settle(self, reserved: "Reserve") -> None:
        """A call is over and, where it took anything, added."""
        self._reserved -= reserved

    def add(self, call: ModelCall) -> None:
        """Add what a call turned out to have used, estimates included."""
        self._estimated += tokens_of(call.estimated_usage)
        self._tokens += tokens_of(call.usage) + tokens_of(call.estimated_usage)
        self._money += (call.cost_usd or 0.0) + (call.estimated_cost_usd or 0.0)

    def age(self, seconds: float) -> None:
        """Count wall time that passed when a reused answer was asked for."""
        self._opened -= seconds

    def is_spoken_for(self) -> bool:
        """True while the calls that are open may use up what is left: only their ends will tell."""
        tokens, money, reserved = self._budget.tokens, self._budget.money_usd, self._reserved
        if reserved.calls == 0:
            return False
        return (tokens is not None and self._tokens + reserved.tokens >= tokens) or (
            money is not None and self._money + reserved.money_usd >= money
        )

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
            return f"the {self._whose} budget of {budget.tokens:,} tokens is used up ({self._used()})"
        if budget.money_usd is not None and self._money >= budget.money_usd:
            return f"the {self._whose} budget of {budget.money_usd:g} USD is used up ({self._money:.2f})"
        return self.out_of_time()

    def _used(self) -> str:
        estimated = f", {self._estimated:,} of them estimated" if self._estimated else ""
        return f"{self._tokens:,}{estimated}"


def tokens_of(usage: Usage | None) -> int:
    """All tokens of a usage, as far as known."""
    if usage is None:
        return 0
    buckets = (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output)
    return sum(bucket or 0 for bucket in buckets)
