"""What requests with one key share: how many may be open, and until when the provider asked for silence."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runbook.gateway.exchange import Exchange


class Lane:
    """One per provider; used on the gateway's loop only."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._quiet_until = 0.0

    @asynccontextmanager
    async def slot(self, exchange: Exchange) -> AsyncIterator[None]:
        """Hold one of the key's slots; time spent waiting for it goes to the exchange's rate limit time."""
        if self._slots.locked():
            await self._queue(exchange)
        else:
            await self._slots.acquire()
        try:
            await self._quiet(exchange)
            yield
        finally:
            self._slots.release()

    async def _queue(self, exchange: Exchange) -> None:
        asked = time.monotonic()
        exchange.waiting = True
        try:
            await self._slots.acquire()
        finally:
            exchange.waiting = False
            exchange.rate_limit_seconds += time.monotonic() - asked

    async def _quiet(self, exchange: Exchange) -> None:
        while (seconds := self._quiet_until - time.monotonic()) > 0:
            exchange.waiting = True
            exchange.rate_limit_seconds += seconds
            try:
                await asyncio.sleep(seconds)
            finally:
                exchange.waiting = False

    def quiet_for(self, seconds: float) -> None:
        """The provider's rate limit ends in so many seconds, for every request with this key."""
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)
