"""Sending a request to its provider and the answer back, chunk by chunk as it arrives."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Any

import aiohttp
from yarl import URL

from runbook.gateway.exchange import Exchange
from runbook.gateway.keys import DECODED, KeyMask, key_header, returned_headers
from runbook.gateway.provider import Provider
from runbook.gateway.records import Wire
from runbook.gateway.refusals import Refusal
from runbook.gateway.retries import Answer, Patience, TemporaryError, may_pass, with_retries
from runbook.gateway.routes import upstream_url
from runbook.outcomes import Outcome

_SKIPPED = ("Accept", "Content-Type", "User-Agent")
"""Headers that the client would add where the agent sent none."""

LARGEST_ANSWER = 64 * 2**20
"""Bytes of an answer; longer ones are broken off."""
_LARGEST_ERROR = 2**20
"""Bytes that are read of an answer which may be asked for again."""

_END_OF_STATUSES = 600

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class StreamBrokenError(Exception):
    """An answer ended before its end, so the agent's connection must break off, too."""


async def forward(
    exchange: Exchange,
    wire: Wire,
    provider: Provider,
    client: aiohttp.ClientSession,
    patience: Patience,
    send: Send,
) -> None:
    """Ask the provider, with retries, and pass its answer on.

    Raises:
        StreamBrokenError: the answer had begun and did not end.
    """
    async with AsyncExitStack() as stack:

        async def once() -> aiohttp.ClientResponse | Answer:
            return await _ask_once(exchange, wire, provider, client, stack)

        try:
            answer = await with_retries(once, exchange, patience, provider.lane.quiet_for)
        except TemporaryError as failure:
            if failure.answer is None:
                refusal = Refusal(502, "provider_unreachable", str(failure))
                exchange.refused(refusal, Outcome.PROVIDER_ERROR)
                await refuse(exchange, wire, refusal, send)
                return
            answer = failure.answer
        if isinstance(answer, Answer):
            await _pass_on_whole(exchange, provider, answer, send)
        else:
            await _pass_on_stream(exchange, provider, answer, send)


async def _ask_once(
    exchange: Exchange, wire: Wire, provider: Provider, client: aiohttp.ClientSession, stack: AsyncExitStack
) -> aiohttp.ClientResponse | Answer:
    """One try. An open response, and the slot that it takes, belong to `stack`."""
    settings = provider.settings
    headers = {**exchange.headers, **settings.headers, **key_header(wire, provider.key)}
    headers["accept-encoding"] = "identity"
    url = upstream_url(settings.base_url, settings.wires, exchange.path, exchange.query)
    async with AsyncExitStack() as attempt:
        await attempt.enter_async_context(provider.lane.slot(exchange))
        try:
            response = await client.request(
                exchange.method,
                URL(url, encoded=True),
                headers=headers,
                data=exchange.body or None,
                allow_redirects=False,
                skip_auto_headers=_SKIPPED,
            )
            attempt.callback(response.close)
            encoding = response.headers.get("content-encoding", "").strip().lower()
            if encoding not in DECODED:
                return _unreadable(exchange, wire, encoding)
            if response.status != 429 and response.status < 500:
                stack.push_async_callback(attempt.pop_all().aclose)
                return response
            body, answer_headers = await _read_error(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise TemporaryError(_in_words(error)) from None
    answer = Answer(response.status, answer_headers, body)
    if may_pass(answer.status, body):
        raise TemporaryError(f"the provider answered {answer.status}", answer)
    return answer


def _unreadable(exchange: Exchange, wire: Wire, encoding: str) -> Answer:
    """In place of bytes in which a key could not be seen."""
    words = f"the provider answered in the encoding {encoding!a:.40}, which nobody asked for"
    refusal = Refusal(502, "provider_unreadable", words)
    exchange.refused(refusal, Outcome.PROVIDER_ERROR)
    return Answer(refusal.status, [(b"content-type", b"application/json")], refusal.body(wire))


async def _read_error(response: aiohttp.ClientResponse) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The start of an error's body, and the headers that fit it."""
    body = b""
    headers = list(response.raw_headers)
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ERROR:
            return body[:_LARGEST_ERROR], [
                header for header in headers if header[0].lower() != b"content-length"
            ]
    return body, headers


async def _pass_on_whole(exchange: Exchange, provider: Provider, answer: Answer, send: Send) -> None:
    mask = KeyMask(provider.key)
    headers = returned_headers(answer.headers, mask)
    body = mask.whole(answer.body)
    # We have tried long enough: the SDKs of OpenAI and Anthropic obey this.
    await start(exchange, answer.status, [*headers, (b"x-should-retry", b"false")], send)
    await pass_chunk(exchange, body, send)
    await finish(exchange, send)


async def _pass_on_stream(
    exchange: Exchange, provider: Provider, response: aiohttp.ClientResponse, send: Send
) -> None:
    mask = KeyMask(provider.key)
    await start(exchange, response.status, returned_headers(response.raw_headers, mask), send)
    try:
        async for chunk in response.content.iter_any():
            if ready := mask.feed(chunk):
                await pass_chunk(exchange, ready, send)
            if exchange.answer_size > LARGEST_ANSWER:
                exchange.broken, exchange.outcome = True, Outcome.PROVIDER_ERROR
                exchange.detail = f"the answer grew beyond {LARGEST_ANSWER} bytes"
                raise StreamBrokenError
    except (aiohttp.ClientError, TimeoutError) as error:
        exchange.broken = True
        exchange.detail = f"the answer broke off: {_in_words(error)}"
        raise StreamBrokenError from None
    await pass_chunk(exchange, mask.flush(), send)
    await finish(exchange, send)


async def refuse(exchange: Exchange, wire: Wire, refusal: Refusal, send: Send) -> None:
    """Answer with an error of our own."""
    await start(exchange, refusal.status, refusal.headers(), send)
    await pass_chunk(exchange, refusal.body(wire), send)
    await finish(exchange, send)


async def start(exchange: Exchange, status: int, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    """Begin the answer to the agent. A status that is none in HTTP becomes the one of a bad gateway."""
    status = status if HTTPStatus.OK <= status < _END_OF_STATUSES else HTTPStatus.BAD_GATEWAY
    exchange.status = status
    exchange.answer_headers = headers
    exchange.last_traffic = time.monotonic()
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def pass_chunk(exchange: Exchange, chunk: bytes, send: Send) -> None:
    """Pass a chunk on at once, and remember it."""
    if chunk:
        exchange.passed_on(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def finish(exchange: Exchange, send: Send) -> None:
    """End the answer to the agent."""
    exchange.complete = True
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _in_words(error: Exception) -> str:
    """Only the kind of the fault: messages may hold addresses and header values."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return "the provider cannot be reached"
    if isinstance(error, TimeoutError):
        return "the provider fell silent"
    return f"the connection to the provider failed ({type(error).__name__})"
