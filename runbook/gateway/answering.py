"""Who answers requests that pass: the providers."""

import httpx

from runbook.gateway.exchange import Exchange
from runbook.gateway.forwarding import Send, forward
from runbook.gateway.line import Line


class Upstream:
    """Asks the line's provider. One HTTP client for the whole run."""

    def __init__(self, connect_seconds: float, silence_seconds: float) -> None:
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(silence_seconds, connect=connect_seconds, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
        )

    async def answer(self, line: Line, exchange: Exchange, send: Send) -> None:
        """Ask, and pass the answer on."""
        await forward(exchange, line.order.wire, line.provider, self._client, line.patience, send)

    async def close(self) -> None:
        """Close the connections to the providers."""
        await self._client.aclose()
