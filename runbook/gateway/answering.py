"""Who answers requests that pass: the providers, with or without a recording of it, or a recording alone."""

import asyncio
import weakref
from concurrent.futures import Executor
from typing import Any
from urllib.request import getproxies

import aiohttp

from runbook.gateway.cassette import CassetteReader, CassetteWriter, Recorded
from runbook.gateway.describing import is_whole
from runbook.gateway.difference import describe_difference, leaves, likeness
from runbook.gateway.exchange import Exchange
from runbook.gateway.forwarding import Send, StreamBrokenError, finish, forward, pass_chunk, refuse, start
from runbook.gateway.line import Line
from runbook.gateway.normalising import Volatile, request_key
from runbook.gateway.parsing import is_deep
from runbook.gateway.parts import Splitter
from runbook.gateway.refusals import Refusal
from runbook.gateway.settings import GatewayError
from runbook.outcomes import Outcome


class Upstream:
    """Asks the line's provider. One HTTP client for the whole run."""

    def __init__(self, connect_seconds: float, silence_seconds: float) -> None:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                sock_connect=connect_seconds, sock_read=silence_seconds, total=None
            ),
            trust_env=bool(getproxies()),
        )

    async def answer(self, line: Line, exchange: Exchange, send: Send) -> None:
        """Ask, and pass the answer on."""
        await forward(exchange, line.order.wire, line.provider, self._client, line.patience, send)

    async def close(self) -> None:
        """Close the connections to the providers."""
        await self._client.close()


class Recording:
    """Asks the providers, and appends every exchange to a cassette, those that fail included."""

    def __init__(self, upstream: Upstream, cassette: CassetteWriter, writer: Executor) -> None:
        self._upstream = upstream
        self._cassette = cassette
        self._writer = writer
        self._volatile = Volatile()
        self._splitters: weakref.WeakKeyDictionary[Line, Splitter] = weakref.WeakKeyDictionary()
        self._writing: set[asyncio.Future[None]] = set()

    async def answer(self, line: Line, exchange: Exchange, send: Send) -> None:
        """Ask, pass the answer on, and record it once it is over."""
        try:
            await self._upstream.answer(line, exchange, send)
        finally:
            exchange.ended()
            loop = asyncio.get_running_loop()
            self._writing = {task for task in self._writing if not task.done() or task.exception()}
            self._writing.add(loop.run_in_executor(self._writer, self._record, line, exchange))

    def _record(self, line: Line, exchange: Exchange) -> None:
        plain = plain_request(self._volatile, line, exchange)
        key = request_key(exchange.method, exchange.path_and_query, plain)
        splitter = self._splitters.setdefault(line, Splitter())
        gone = bool(exchange.gone) and not is_whole(exchange)
        self._cassette.add(exchange, key, plain, line.order.volatile, splitter, gone=gone)

    async def close(self) -> None:
        """Write what is left. Raises what the first failed writing raised."""
        await self._upstream.close()
        failures = [error for error in await asyncio.gather(*self._writing, return_exceptions=True) if error]
        self._cassette.close()
        if failures:
            raise failures[0]


class Replay:
    """Answers from a cassette, equal requests in recorded order; what was not recorded is an error."""

    def __init__(self, cassette: CassetteReader) -> None:
        self._cassette = cassette
        self._volatile = Volatile()
        self._used: dict[str, int] = {}

    async def answer(self, line: Line, exchange: Exchange, send: Send) -> None:
        """Pass the recorded answer on at once; the exchange gets the recorded times."""
        plain = await asyncio.to_thread(plain_request, self._volatile, line, exchange)
        key = request_key(exchange.method, exchange.path_and_query, plain)
        recorded = self._next(key, exchange)
        if recorded is None:
            why = await asyncio.to_thread(self._miss, key, exchange, plain)
            refusal = Refusal(400, "replay_miss", why)
            exchange.refused(refusal, Outcome.PROVIDER_ERROR)
            await refuse(exchange, line.order.wire, refusal, send)
            return
        exchange.replayed = True
        exchange.outcome, exchange.detail = recorded.outcome, recorded.detail
        exchange.retries, exchange.rate_limit_seconds = recorded.retries, recorded.rate_limit_seconds
        try:
            await self._play(line, exchange, recorded, send)
        finally:
            exchange.stamps[:] = [time for time, _ in recorded.cuts][: len(exchange.stamps)]
            exchange.ended_at = recorded.ended_at

    async def _play(self, line: Line, exchange: Exchange, recorded: Recorded, send: Send) -> None:
        if recorded.status is not None:
            headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers]
            if line.order.volatile:
                headers = [header for header in headers if header[0] != b"content-length"]
            await start(exchange, recorded.status, headers, send)
            for chunk in self._cassette.chunks(recorded, line.order.volatile):
                await pass_chunk(exchange, chunk, send)
        if recorded.gone:
            await asyncio.Event().wait()  # until the agent leaves again, as it did then
        if recorded.broken:
            exchange.broken = True
            raise StreamBrokenError
        await finish(exchange, send)

    def _next(self, key: str, exchange: Exchange) -> Recorded | None:
        numbers = self._cassette.numbers(key)
        used = self._used.get(key, 0)
        if used >= len(numbers):
            if exchange.generates or not numbers:
                return None
            used = len(numbers) - 1
        self._used[key] = used + 1
        return self._cassette.exchange(numbers[used])

    def _miss(self, key: str, exchange: Exchange, plain: Any) -> str:
        """Why there is no answer: the nearest recorded request and where it differs."""
        asked = dict(leaves(plain))
        times = len(self._cassette.numbers(key))
        if times:
            return f"this request was recorded {times} times and is asked for once more"
        best: tuple[float, int, dict[str, Any]] | None = None
        for number in range(len(self._cassette)):
            recorded = self._cassette.exchange(number)
            if (recorded.method, recorded.path) == (exchange.method, exchange.path_and_query):
                try:
                    flat = dict(leaves(self._cassette.request(recorded)))
                except GatewayError:
                    continue  # it can be answered all the same where it is asked for
                share = likeness(flat, asked)
                if best is None or share > best[0]:
                    best = (share, number, flat)
        if best is None:
            return f"the recording holds no {exchange.method} {exchange.path_and_query}"
        difference = describe_difference(best[2], asked)
        return f"this request was not recorded; exchange {best[1] + 1} is nearest: {difference}"

    async def close(self) -> None:
        """Nothing is held open."""


def plain_request(volatile: Volatile, line: Line, exchange: Exchange) -> Any:
    """What a recording is looked up by: the request without what differs from run to run.

    Of a request that is nested too deep it is the text, which need not be walked through.
    """
    deep = exchange.request is not None and not exchange.exact and is_deep(exchange.request)
    request = exchange.body.decode("utf-8", "replace") if deep else exchange.request
    return volatile.without(request, line.order.wire, line.order.volatile)
