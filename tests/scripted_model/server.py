"""The HTTP side: paths to wires, answers to bodies and streams, requests to the log."""

import asyncio
import gzip
import itertools
import json
import re
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.scripted_model.conversation import Conversation, Event, Json, Numbered
from tests.scripted_model.modes import Refusal, Silence, act
from tests.scripted_model.wires import chat, gemini, messages, responses

MODELS = ("scripted-model", "gemini-2.5-pro")
_MODE = re.compile(r"^/m/([a-z]+\d*)(?:-([\w.-]*))?(/.*)$")
_WIRES: tuple[tuple[str, ModuleType], ...] = (
    ("/responses", responses),
    ("/chat/completions", chat),
    ("/messages", messages),
    (":generateContent", gemini),
    (":streamGenerateContent", gemini),
)
_SILENCE_SECONDS = 3600.0


class ConnectionCut(Exception):  # noqa: N818 - raised to break the connection, which is what `cut` promises
    """Ends a response without its end."""


class ScriptedModel:
    """The server's state: how many requests came, in all and per prefix.

    Args:
        mode: where a path names none.
        delay: seconds between two events of a stream.
        log: the file that receives each request as one JSON line; none by default.
    """

    def __init__(self, *, mode: str = "ok", delay: float = 0.005, log: Path | None = None) -> None:
        self._mode = mode
        self._delay = delay
        self._log = log
        self._numbers = itertools.count(1)
        self._earlier: Counter[str] = Counter()

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[Route("/{path:path}", self._serve, methods=["GET", "HEAD", "POST", "PUT", "DELETE"])]
        )

    async def _serve(self, request: Request) -> Response:
        named = _MODE.match(request.url.path)
        mode, run, path = (
            (named[1], named[2] or "", named[3]) if named else (self._mode, "", request.url.path)
        )
        body = _decoded(await request.body(), request.headers.get("content-encoding", ""))
        number = next(self._numbers)
        self._record(number, mode, request, body)
        if request.method != "POST":
            return _models(path) if request.method == "GET" else Response()
        wire = next((wire for end, wire in _WIRES if path.endswith(end)), None)
        if path.endswith("/count_tokens"):
            return JSONResponse({"input_tokens": len(json.dumps(body)) // 4})
        if path.endswith(":countTokens"):
            return JSONResponse({"totalTokens": len(json.dumps(body)) // 4})
        if wire is None or not isinstance(body, dict):
            status = 404 if wire is None else 400
            return JSONResponse(
                {"error": {"message": "no such path or no JSON", "type": "not_found"}}, status
            )
        said: Conversation = wire.read(body, path)
        earlier = self._earlier[f"{mode}-{run}"]
        self._earlier[f"{mode}-{run}"] += 1
        deed = act(mode, said, earlier, run)
        if isinstance(deed, Silence):
            await _until_gone(request)
            return Response(status_code=504)
        if isinstance(deed, Refusal):
            headers = {"retry-after": deed.retry_after} if deed.retry_after else None
            return JSONResponse(wire.error(deed.status, deed.message, deed.kind), deed.status, headers)
        return self._answered(wire, Numbered(deed, number, int(time.time()), said.step), said, mode)

    def _answered(self, wire: ModuleType, one: Numbered, said: Conversation, mode: str) -> Response:
        headers = {"x-request-id": f"req_{one.number}"}
        if said.stream:
            events = list(wire.events(one, said.wants_usage))
            body = self._stream(events, mode)
            return StreamingResponse(body, media_type="text/event-stream", headers=headers)
        if mode in ("trunc", "cut"):
            raw = json.dumps(wire.whole(one)).encode()
            return StreamingResponse(_broken(raw), media_type="application/json", headers=headers)
        return JSONResponse(wire.whole(one), headers=headers)

    async def _stream(self, events: list[Event], mode: str) -> AsyncIterator[bytes]:
        kept = events[: max(1, len(events) // 2)] if mode in ("trunc", "cut") else events
        for one in kept:
            yield one.bytes()
            await asyncio.sleep(self._delay)
        if mode == "cut":
            raise ConnectionCut

    def _record(self, number: int, mode: str, request: Request, body: object) -> None:
        if self._log is None:
            return
        line = {
            "number": number,
            "at": time.time(),
            "mode": mode,
            "method": request.method,
            "path": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "headers": dict(request.headers),
            "body": body,
        }
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


async def _broken(raw: bytes) -> AsyncIterator[bytes]:
    yield raw[: len(raw) // 2]
    raise ConnectionCut


async def _until_gone(request: Request) -> None:
    end = time.monotonic() + _SILENCE_SECONDS
    while time.monotonic() < end and not await request.is_disconnected():
        await asyncio.sleep(0.1)


def _decoded(raw: bytes, encoding: str) -> object:
    """The JSON of a body; text where it is none, None where it is empty."""
    try:
        if encoding == "gzip":
            raw = gzip.decompress(raw)
        elif encoding == "deflate":
            raw = zlib.decompress(raw)
    except (OSError, zlib.error):
        return raw.decode("latin-1")
    try:
        value: object = json.loads(raw) if raw else None
    except ValueError:
        return raw.decode("latin-1")
    return value


def _models(path: str) -> Response:
    """A list of models, or one of them, as the path's provider would write it."""
    listed = path.rstrip("/").endswith("/models")
    if not listed and "/models/" not in path:
        return JSONResponse({"error": {"message": "not found", "type": "not_found"}}, 404)
    names = MODELS if listed else (path.rstrip("/").rpartition("/")[2],)
    if "/v1beta/" in path:
        found: list[Json] = [{"name": f"models/{name}", "displayName": name} for name in names]
        return JSONResponse({"models": found} if listed else found[0])
    both = {"object": "model", "type": "model", "created": 1, "owned_by": "tests"}
    found = [{"id": name, "display_name": name, **both} for name in names]
    return JSONResponse({"object": "list", "data": found, "has_more": False} if listed else found[0])
