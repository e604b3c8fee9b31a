"""The ASGI application behind every socket: finds a request's line, decides if it passes, has it answered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, Protocol

from starlette.requests import ClientDisconnect, Request

from runbook.gateway.exchange import Exchange
from runbook.gateway.forwarding import Send, StreamBrokenError, finish, refuse, start
from runbook.gateway.hosted import refuse_hosted
from runbook.gateway.keys import forwarded_headers, without_key
from runbook.gateway.line import Line
from runbook.gateway.parsing import LARGEST_BODY, TooLargeError, UnreadableError, decompress, parse, weight_of
from runbook.gateway.refusals import Refusal
from runbook.gateway.routes import Kind, find_route, plain_path
from runbook.outcomes import Outcome

_log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Answerer(Protocol):
    """Whoever answers what passes: the providers, or a recording."""

    async def answer(self, line: Line, exchange: Exchange, send: Send) -> None:
        """Answer through `send`; StreamBrokenError where an answer that had begun cannot be ended."""
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...


class App:
    """Serves all lines of a gateway. Lines are told apart by their route prefix, which no agent can guess."""

    def __init__(self, answerer: Answerer, hosted_tools: Literal["refuse", "allow"]) -> None:
        self.lines: dict[str, Line] = {}
        self._hosted_tools = hosted_tools
        self._answerer = answerer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        target = scope["raw_path"].decode("latin-1")
        prefix = "/".join(target.split("/", 3)[:3])
        line = self.lines.get(prefix)
        if line is None:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"no such line"})
            return
        exchange = line.begin(lambda number: _exchange(number, line, scope, target[len(prefix) :]))
        try:
            await self._serve(line, exchange, Request(scope, receive), send)
        except ClientDisconnect:
            exchange.gone = "the agent went away"
        except StreamBrokenError:
            pass  # returning without an end makes the server break the connection off, as the provider did
        except asyncio.CancelledError:
            if not exchange.gone:
                exchange.gone = "the gateway stopped"
                raise
        except Exception as error:
            _log.exception("the gateway failed to serve %s %s", exchange.method, line.order.labels)
            exchange.outcome = Outcome.PROVIDER_ERROR
            exchange.detail = f"the gateway failed to serve the request ({type(error).__name__})"
        finally:
            line.end(exchange)

    async def _serve(self, line: Line, exchange: Exchange, request: Request, send: Send) -> None:
        refusal = await _read(exchange, request, line) or _check_model(exchange, line)
        refusal = refusal or self._check_hosted(exchange, line)
        if refusal is None and exchange.generates:
            refusal = await _admit(exchange, line)
        elif refusal is None and (why := line.over_budget()):
            refusal = Refusal(400, "budget_exceeded", why)
            exchange.refused(refusal, None)
        if refusal is not None:
            exchange.forget_request()
            await refuse(exchange, line.order.wire, refusal, send)
        elif exchange.route is not None and exchange.route.kind is Kind.PROBE:
            await start(exchange, 200, [(b"content-length", b"0")], send)
            await finish(exchange, send)
        else:
            await self._answer(line, exchange, request, send)

    def _check_hosted(self, exchange: Exchange, line: Line) -> Refusal | None:
        """A refusal where the provider would act in the agent's place, outside of its sandbox."""
        if self._hosted_tools == "allow" or exchange.request is None:
            return None
        wire = exchange.route.wire if exchange.route and exchange.route.wire else line.order.wire
        refusal = refuse_hosted(exchange.request, wire)
        if refusal is not None:
            exchange.refused(refusal, Outcome.INVALID_OUTPUT if exchange.generates else None)
        return refusal

    async def _answer(self, line: Line, exchange: Exchange, request: Request, send: Send) -> None:
        """Have it answered for as long as the agent stays."""
        exchange.asked = True
        watch = asyncio.create_task(_watch(exchange, request, asyncio.current_task()))
        try:
            await self._answerer.answer(line, exchange, send)
        finally:
            watch.cancel()


async def _watch(exchange: Exchange, request: Request, answering: asyncio.Task[Any] | None) -> None:
    """Cancel the answering when the agent goes away, so that the provider stops, too."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    if not exchange.complete and answering is not None:
        exchange.gone = "the agent went away"
        answering.cancel()


def _exchange(number: int, line: Line, scope: Scope, path: str) -> Exchange:
    method = scope["method"]
    return Exchange(
        number=number,
        method=method,
        path=plain_path(path),
        query=without_key(scope["query_string"].decode("latin-1")),
        route=find_route(line.provider.settings.wires, method, path),
        headers=forwarded_headers(scope["headers"]),
    )


async def _read(exchange: Exchange, request: Request, line: Line) -> Refusal | None:
    """Read the request's body; a refusal where the request cannot be passed whatever it asks for."""
    if exchange.route is None:
        refusal = Refusal(
            404, "path_not_allowed", f"{exchange.method} {exchange.path:.200} is not a listed path"
        )
        exchange.refused(refusal, None)
        return refusal
    if exchange.method != "POST":
        return None
    try:
        pieces, size = [], 0
        async for piece in request.stream():
            size += len(piece)
            if size > LARGEST_BODY:
                raise TooLargeError(f"the request body is over {LARGEST_BODY} bytes")
            await line.hold(exchange, size)
            pieces.append(piece)
        encoding = request.headers.get("content-encoding", "").strip().lower()
        exchange.body = decompress(b"".join(pieces), encoding)
        await line.hold(exchange, weight_of(exchange.body))
        exchange.request, exchange.exact = parse(exchange.body)
    except UnreadableError as error:
        status, code = (413, "too_large") if isinstance(error, TooLargeError) else (400, "unreadable")
        refusal = Refusal(status, code, str(error))
        exchange.refused(refusal, Outcome.INVALID_OUTPUT)
        return refusal
    return None


async def _admit(exchange: Exchange, line: Line) -> Refusal | None:
    """Count a generation in; a refusal where another model answered before, or a budget is used up."""
    await line.settle()
    facts = line.facts()
    if facts.failure is Outcome.MODEL_MISMATCH and facts.calls:
        refusal = Refusal(400, "model_mismatch", facts.detail)
        exchange.refused(refusal, Outcome.MODEL_MISMATCH)
        return refusal
    if why := await line.admit(exchange):
        refusal = Refusal(400, "budget_exceeded", why)
        exchange.refused(refusal, Outcome.BUDGET_EXCEEDED)
        return refusal
    return None


def _check_model(exchange: Exchange, line: Line) -> Refusal | None:
    """Find the requested model; a refusal where the line does not allow it."""
    if exchange.route is None or exchange.route.kind not in {Kind.GENERATE, Kind.COUNT}:
        return None
    model = exchange.route.model or exchange.request.get("model")
    exchange.requested_model = model if isinstance(model, str) else None
    if exchange.requested_model in line.allowed_models:
        return None
    refusal = Refusal(
        400,
        "model_not_allowed",
        f"this attempt may ask for {', '.join(sorted(line.allowed_models))}, not for {model!s:.100}",
    )
    exchange.refused(refusal, Outcome.MODEL_MISMATCH if exchange.generates else None)
    return refusal
