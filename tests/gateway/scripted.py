"""A provider that answers as told, over a real socket, and what a chat with it looks like."""

import json
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from runbook.gateway import Gateway, Line
from tests.waiting import AT_ONCE, FOREVER, wait_for

KEY = "sk-canary-7f3a9b2c"
SSE = "text/event-stream"


class Break:
    """In place of a chunk: the connection breaks off here."""


@dataclass
class Scripted:
    """One answer: chunks are sent one by one. In their place a number is a pause in seconds, and an event one
    until it is set."""

    chunks: Sequence[bytes | float | threading.Event | Break] = ()
    status: int = 200
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    before: float | threading.Event = 0.0
    """The silence before the status line, as a pause."""


@dataclass
class Asked:
    """A request as the provider saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Provider:
    """Serves its answers in order, the last one again and again."""

    def __init__(self) -> None:
        self.open = 0
        self._pauses: list[threading.Event] = []
        self._resting = False
        self.reset()
        self._lock = threading.Lock()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                provider.serve(self)

            do_GET = do_POST  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def reset(self) -> None:
        """Forget the last test."""
        self.answers: list[Scripted] = []
        self.asked: list[Asked] = []
        self.broken_pipes = 0
        self.most_open = 0

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        with self._lock:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            self.asked.append(Asked(handler.command, handler.path, headers, body, time.monotonic()))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        whole = False
        try:
            whole = self._send(handler, answer)
        except (BrokenPipeError, ConnectionResetError):
            self.broken_pipes += 1
        finally:
            with self._lock:
                self.open -= 1
        if whole:  # no longer open by the time that the gateway can know of it
            with suppress(BrokenPipeError, ConnectionResetError):
                handler.wfile.write(b"0\r\n\r\n")

    def rest(self) -> None:
        """Wait until no answer is open, with all their pauses at an end."""

        self._resting = True
        for pause in list(self._pauses):
            pause.set()
        wait_for(lambda: self.open == 0)
        self._resting = False
        self._pauses.clear()

    def _pause(self, pause: float | threading.Event) -> None:
        end = pause if isinstance(pause, threading.Event) else threading.Event()
        self._pauses.append(end)
        if not self._resting:
            end.wait(FOREVER if pause is end else pause)

    def _send(self, handler: BaseHTTPRequestHandler, answer: Scripted) -> bool:
        """Send all but the end; False where the connection broke off."""
        self._pause(answer.before)
        handler.send_response(answer.status)
        handler.send_header("content-type", answer.type)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for chunk in answer.chunks:
            if isinstance(chunk, Break):
                handler.close_connection = True
                handler.connection.close()
                return False
            if isinstance(chunk, bytes):
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            else:
                self._pause(chunk)
        return True

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Attempt:
    """An open line, and a client that speaks through it as an agent would."""

    gateway: Gateway
    line: Line
    client: httpx.Client
    folder: Path

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self.client.post(path, json=body, **options)

    def connect(self) -> socket.socket:
        """A connection of its own."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(AT_ONCE)
        connection.connect(str(self.line.socket))
        return connection

    def ask_and_leave(self, provider: "Provider", path: str, body: Any) -> None:
        """Go away once the provider has the request, before it has answered."""
        data = json.dumps(body).encode()
        head = f"POST {self.line.prefix}{path} HTTP/1.1\r\nhost: agent\r\ncontent-length: {len(data)}\r\n\r\n"
        with self.connect() as connection:
            connection.sendall(head.encode() + data)
            wait_for(lambda: provider.asked)


def event(value: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat_stream(text: str = "hello", model: str = "m", **usage: int) -> Scripted:
    """A streamed chat completion, one event per word."""
    counts = {"prompt_tokens": 100, "completion_tokens": 10, **usage}
    words = [
        {"choices": [{"index": 0, "delta": {"content": word}}], "model": model} for word in text.split(" ")
    ]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": model, "usage": counts}
    return Scripted([*(event(word) for word in words), event(end), b"data: [DONE]\n\n"], type=SSE)


def chat_request(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A chat request that asks for a stream."""
    said = messages or ({"role": "user", "content": "hi"},)
    return {"model": "m", "stream": True, "messages": list(said), **fields}


CHAT = "/v1/chat/completions"
