"""A server for retrieval tests: embeddings, queries, events, notes, readings and verdicts, by script.

Embeddings are hashed bags of words, so that texts with the same rare words are near each other. Chat replies
follow from what is asked; `broken` of them are no JSON first.
"""

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.scripted_model.reading import judged, read_answer

DIMENSIONS = 256
_WORD = re.compile(r"[A-Za-z0-9-]+")
_BLOCK = r"<<< (\w+)\n(.*?)\n>>> \1"


@dataclass
class ScriptedRetrieval:
    """What the server does, and what it was asked."""

    url: str = ""
    broken: int = 0
    """So many chat replies about JSON are no JSON."""
    answers_as: str | None = None
    """What chat replies call their model; None is the one that was asked."""
    echo: str = ""
    """What chat replies about JSON say instead, as a JSON string's content."""
    fault: Callable[[dict[str, Any]], tuple[int, dict[str, Any]] | None] = lambda _: None
    """What embedding requests are answered instead; None: as usual."""
    answering: int | None = None
    """So many more requests are answered, all others with status 503; None answers all."""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Path and body of each, in order of arrival."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The bodies sent to a path."""
        return [body for name, body in self.requests if name == path]

    def texts(self) -> list[str]:
        """All texts that were embedded."""
        return [text for body in self.asked("/v1/embeddings") for text in body["input"]]

    def reply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.requests.append((path, body))
            if self.answering == 0:
                return 503, {"error": {"message": "not now"}}
            if self.answering is not None:
                self.answering -= 1
        if path == "/v1/embeddings":
            if (faulty := self.fault(body)) is not None:
                return faulty
            rows = [{"index": place, "embedding": bag(text)} for place, text in enumerate(body["input"])]
            usage = {"prompt_tokens": sum(map(len, body["input"])) // 4}
            return 200, {"data": rows[::-1], "usage": usage, "model": body["model"]}
        reply = completion(self._said(body), body)
        return 200, reply | ({"model": self.answers_as} if self.answers_as else {})

    def _said(self, body: dict[str, Any]) -> str:
        prompt = plain(body["messages"][-1]["content"])
        model = body["model"]
        if model == "reader":
            return read_answer(SimpleNamespace(prompt=prompt))  # type: ignore[arg-type]
        if model == "judge":
            return judged(SimpleNamespace(prompt=prompt))  # type: ignore[arg-type]
        with self.lock:
            if self.broken:
                self.broken -= 1
                return "I would look for the following things: pages, menus"
        return str(json.loads(f'"{self.echo}"')) if self.echo else json.dumps(written(prompt))


def written(prompt: str) -> dict[str, Any]:
    """The JSON object that a prompt of ours asks for."""
    blocks = [text for _, text in re.findall(_BLOCK, prompt, re.DOTALL)]
    if "raw_queries" in prompt:
        question = blocks[-1]
        words = " ".join(word for word in _WORD.findall(question) if not word.islower())
        queries = [question, words or question]
        return {"raw_queries": queries, "event_query": f"what happened: {question}", "note_query": question}
    if '"events"' in prompt:
        numbers = [int(number) for number in re.findall(r"^Step (\d+)$", prompt, re.MULTILINE)]
        steps = zip(numbers, blocks[1:], strict=False)
        return {"events": [{"step": number, "text": f"event {text[:300]}"} for number, text in steps]}
    return {"procedure": f"procedure {blocks[0][:300]}", "hint": f"hint {blocks[0][-300:]}"}


def bag(text: str) -> list[float]:
    """A text's words in a vector of counts, the same in every process."""
    vector = np.zeros(DIMENSIONS)
    for word in _WORD.findall(text.lower()):
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1
    return np.sqrt(vector).round(3).tolist()


def completion(text: str, body: dict[str, Any]) -> dict[str, Any]:
    prompt = sum(len(plain(one["content"])) for one in body["messages"]) // 4
    usage = {"prompt_tokens": prompt, "completion_tokens": len(text) // 4}
    usage["total_tokens"] = prompt + len(text) // 4
    return {
        "model": body["model"],
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage,
    }


def plain(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


@contextmanager
def scripted_retrieval() -> Iterator[ScriptedRetrieval]:
    """The server, on a free port, until the context ends."""
    script = ScriptedRetrieval()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, reply = script.reply(self.path, body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
