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
            with exchange.rate_limited():
                await self._slots.acquire()
        else:
            await self._slots.acquire()
        try:
            while (seconds := self._quiet_until - time.monotonic()) > 0:
                with exchange.rate_limited():
                    await asyncio.sleep(seconds)
            yield
        finally:
            self._slots.release()

    def quiet_for(self, seconds: float) -> None:
        """The provider's rate limit ends in so many seconds, for every request with this key."""
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)
