"""One attempt's connection to a model."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from runbook.gateway.budgets import NOTHING, Reserve, Spending, tokens_of
from runbook.gateway.estimating import expected_usage
from runbook.gateway.exchange import Exchange
from runbook.gateway.parsing import TooLargeError
from runbook.gateway.prices import Prices
from runbook.gateway.provider import Provider
from runbook.gateway.recorder import Recorder
from runbook.gateway.records import ModelCall, WireFacts
from runbook.gateway.retries import Patience
from runbook.gateway.settings import GatewayError, LineOrder
from runbook.gateway.tally import Tally

MOST_REFUSALS = 1000
"""Requests of an attempt that the gateway answers alone, before it ends the attempt. A MiB of memory that one
took counts as one more."""
LARGEST_HELD = 256 * 2**20
"""Bytes of memory that the requests of one attempt take while they are open or not yet written down."""
_CLOSING_SECONDS = 30.0
"""For writing down what is left when a line is closed: usually milliseconds, on a busy disk many seconds."""
_MIB = 2**20
_SETTLING_SECONDS = 0.05


class Line:
    """What an attempt holds of the gateway; open until closed. Its methods may be called from any thread."""

    def __init__(
        self,
        order: LineOrder,
        *,
        provider: Provider,
        directory: Path,
        allowed_models: frozenset[str],
        recorder: Recorder,
        spending: tuple[Spending, ...],
        prices: Prices,
        patience: Patience,
        release: Callable[["Line"], None],
    ) -> None:
        self.order = order
        self.provider = provider
        self.directory = directory
        """Host folder that holds one socket, `model.sock`; to be mounted into the sandbox."""
        self.prefix = order.prefix or f"/{secrets.token_urlsafe(18)}/{provider.name}"
        """What stands between host and provider path in the agent's base URL, such as `/k3f9.../openai`."""
        self.allowed_models = allowed_models
        self.patience = patience
        self._recorder = recorder
        # A thread of its own: what one attempt has written down must not make another one wait.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="gateway-writer")
        self._spending = spending
        self._prices = prices
        self._release = release
        self._tally = Tally()
        self._number = max((call.number for call in recorder.earlier), default=0)
        for call in recorder.earlier:
            self._continue_after(call)
        self._open: dict[Exchange, asyncio.Task[Any] | None] = {}
        self._unwritten: set[asyncio.Future[ModelCall]] = set()
        self._held = 0
        self._refusals = 0
        self._is_over = False
        self._last_traffic = time.monotonic()
        self._failed_writing: BaseException | None = None
        self._closing = threading.Lock()
        self._final: WireFacts | None = None

    @property
    def socket(self) -> Path:
        """The socket that agents connect to."""
        return self.directory / "model.sock"

    def idle_seconds(self) -> float:
        """Seconds since a byte last moved on the wire; 0 while the gateway itself makes a call wait.

        A call that the provider has not answered is idle: only the caller's limit tells it from a slow one.
        """
        exchanges = list(self._open)
        if any(exchange.waiting for exchange in exchanges):
            return 0.0
        latest = max([self._last_traffic, *(exchange.last_traffic for exchange in exchanges)])
        return max(0.0, time.monotonic() - latest)

    def over_budget(self) -> str:
        """Why the attempt must end, once a call was refused or the wall time is up; "" before."""
        if late := next(filter(None, (spending.out_of_time() for spending in self._spending)), ""):
            self._tally.refuse_for_budget(late)  # so that the facts say why the attempt ended
        return self._tally.over_budget

    def facts(self) -> WireFacts:
        """The sums as of now; after `close` they are final."""
        return self._final or self._tally.facts()

    def close(self) -> WireFacts:
        """Break off what is open, write everything down, remove the socket. A second call does nothing.

        Raises:
            GatewayError: the record could not be written whole, as on a full disk; `facts` tells the rest.
        """
        with self._closing:
            if self._final is None:
                self._release(self)
                self._final = self._tally.facts()
        if self._failed_writing is not None:
            raise GatewayError(f"the record in {self.order.folder} is incomplete: {self._failed_writing}")
        return self._final

    # What follows is for the gateway's loop.

    def begin(self, exchange_of: Callable[[int], Exchange]) -> Exchange:
        """Number a request that arrived."""
        self._number += 1
        exchange = exchange_of(self._number)
        self._open[exchange] = asyncio.current_task()
        self._last_traffic = time.monotonic()
        return exchange

    async def hold(self, exchange: Exchange, weight: int) -> None:
        """Count the memory that a request takes by now, until it is written down.

        Where it does not fit, it waits for what ended to be written down: no agent is to blame for the disk.

        Raises:
            TooLargeError: the requests of this line take too much.
        """
        if self._held + weight - exchange.weight > LARGEST_HELD:
            await self.settle()
        added = weight - exchange.weight
        if self._held + added > LARGEST_HELD:
            raise TooLargeError(f"the open requests of this attempt take over {LARGEST_HELD} bytes")
        exchange.weight = weight
        self._held += added

    async def settle(self) -> None:
        """Wait until all calls that ended are counted."""
        if self._unwritten:
            await asyncio.wait(set(self._unwritten))

    async def admit(self, exchange: Exchange) -> str:
        """Count a generation in, or say which budget is used up.

        Where the calls that are open may take what is left, it waits for what they really take.
        """
        with exchange.held():
            while not (why := self._exhausted()) and any(s.is_spoken_for() for s in self._spending):
                await asyncio.sleep(_SETTLING_SECONDS)
        if why:
            self._tally.refuse_for_budget(why)
            return why
        usage = expected_usage(exchange)
        price = self._prices.of(exchange.requested_model)
        cost = price.cost(usage) if price else None
        exchange.reserved = Reserve(1, tokens_of(usage), cost or 0.0)
        for spending in self._spending:
            spending.count_in(exchange.reserved)
        self._tally.call_opened()
        return ""

    def _exhausted(self) -> str:
        return next(filter(None, (spending.exhausted() for spending in self._spending)), "")

    def end(self, exchange: Exchange) -> None:
        """Take an exchange that is over off the wire, and have it recorded."""
        exchange.ended()
        del self._open[exchange]
        self._last_traffic = max(self._last_traffic, exchange.last_traffic)
        if exchange.generates and exchange.asked:
            self._tally.call_ended(exchange.started + exchange.stamps[0] if exchange.stamps else None)
        if not (exchange.asked and exchange.generates):
            self._refusals += 1 + exchange.weight // _MIB
        if self._refusals > MOST_REFUSALS:
            self._tally.refuse_for_budget(f"over {MOST_REFUSALS} requests were no calls of a model")
        if self._is_over or (self._refusals > MOST_REFUSALS and not exchange.asked):
            self._settle(exchange)
            return
        writing = asyncio.get_running_loop().run_in_executor(self._writer, self._recorder.record, exchange)
        self._unwritten.add(writing)
        writing.add_done_callback(partial(self._written, exchange))

    def _settle(self, exchange: Exchange) -> None:
        """Give back what was held for an exchange that is over."""
        self._held -= exchange.weight
        for spending in self._spending:
            spending.settle(exchange.reserved)

    def _written(self, exchange: Exchange, writing: "asyncio.Future[ModelCall]") -> None:
        self._unwritten.discard(writing)
        self._settle(exchange)
        if writing.cancelled():
            return
        error = writing.exception()
        if error is not None:
            self._failed_writing = self._failed_writing or error
            return
        self._add(writing.result())

    def _continue_after(self, call: ModelCall) -> None:
        """Take over a call of an earlier gateway, so that a restart gives no new budget."""
        if call.wire is not None:
            for spending in self._spending:
                spending.count_in(NOTHING)
        self._add(call)

    def _add(self, call: ModelCall) -> None:
        if call.wire is not None:
            self._tally.add(call)
            for spending in self._spending:
                spending.add(call)
        elif call.outcome is not None:
            self._tally.refused(call)

    async def finish(self) -> None:
        """Break off what is open and wait until everything is recorded."""
        for exchange, task in list(self._open.items()):
            if task is not None:
                exchange.gone = exchange.gone or "the attempt ended"
                task.cancel()
        deadline = time.monotonic() + _CLOSING_SECONDS
        while (self._open or self._unwritten) and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        self._give_up()
        closing = self._writer.submit(self._recorder.close)
        while not closing.done() and time.monotonic() < deadline:
            await asyncio.sleep(0.002)
        self._writer.shutdown(wait=closing.done())
        error = closing.exception() if closing.done() else TimeoutError("the disk takes too long")
        self._failed_writing = self._failed_writing or error

    def _give_up(self) -> None:
        """Write down nothing more than what is being written."""
        self._is_over = True
        late = len(self._open) + len(self._unwritten)
        if late:
            self._failed_writing = self._failed_writing or TimeoutError(
                f"{late} requests could not be written down within {_CLOSING_SECONDS:g} s"
            )
        for writing in list(self._unwritten):
            writing.cancel()
