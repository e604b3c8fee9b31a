"""Builders for evaluation tests: vectors, questions, data roots on disk, and a model that answers as told."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evals.question import EvalQuestion
from runbook.context import ImageItem
from runbook.endpoint.config import EndpointConfig
from tests.waiting import AT_ONCE, FOREVER


@pytest.fixture(scope="session")
def vectors(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Recorded outputs of the public scoring functions, by kind."""
    lines = (shared / "specs" / "lme_v2_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return lambda kind: [row for row in rows if row["kind"] == kind]


@pytest.fixture
def make_question() -> Callable[..., EvalQuestion]:
    def build(**changed: Any) -> EvalQuestion:
        values = {
            "id": "q1",
            "domain": "web",
            "question_type": "static-environment",
            "question": "Which colour?",
            "image": None,
            "answer": "red",
            "eval_function": "norm_phrase_set_match",
        }
        return EvalQuestion.model_validate(values | changed)

    return build


@dataclass
class RootBuilder:
    """A data root on disk; each file can be written as rows or as raw bytes."""

    path: Path
    questions: list[dict[str, Any]] = field(default_factory=list)

    def question(self, number: int = 1, **changed: Any) -> "RootBuilder":
        row = {
            "id": f"q{number}",
            "domain": "web",
            "question_type": "static-environment",
            "question": "Which colour?",
            "image": None,
            "answer": "red",
            "eval_function": "norm_phrase_set_match",
        } | changed
        self.questions.append({key: value for key, value in row.items() if value is not ...})
        return self

    def file(self, name: str, content: bytes | str | Mapping[str, Any]) -> "RootBuilder":
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Mapping):
            content = json.dumps(content)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def lines(self, rows: Iterable[bytes | str]) -> "RootBuilder":
        """questions.jsonl from raw lines."""
        encoded = [row.encode() if isinstance(row, str) else row for row in rows]
        return self.file("questions.jsonl", b"\n".join(encoded) + b"\n")

    def write(self) -> Path:
        """Fill in what no test has written: questions, and a haystack of t1 and t2 for each."""
        if not (self.path / "questions.jsonl").exists():
            self.lines(json.dumps(row) for row in self.questions)
        if not (self.path / "haystacks").exists():
            ids = [str(row.get("id")) for row in self.questions]
            self.file("haystacks/lme_v2_small.json", {one: ["t1", "t2"] for one in ids})
        return self.path


@pytest.fixture
def root(tmp_path: Path) -> RootBuilder:
    folder = tmp_path / "root"
    folder.mkdir()
    return RootBuilder(folder)


def completion(content: Any, **message: Any) -> dict[str, Any]:
    """The body of a chat completion whose message has this content."""
    return {
        "id": "c1",
        "object": "chat.completion",
        "model": "scripted-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content} | message,
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }


@dataclass(frozen=True)
class Scripted:
    """One answer of the scripted model. `promised` bytes are announced; the rest of them never comes."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None
    seconds: float = 0.0


class ScriptedModel(ThreadingHTTPServer):
    """An OpenAI-compatible server that answers as told, in order; the last answer is repeated."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Scripted] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.arrivals: list[float] = []
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def says(self, *contents: Any) -> None:
        """Answer with completions of these contents."""
        self.answers = [Scripted(json.dumps(completion(one)).encode()) for one in contents]

    def answer_to(self, body: bytes, key: str) -> Scripted:
        with self._lock:
            self.arrivals.append(time.monotonic())
            self.requests.append(json.loads(body))
            self.asked.set()
            self.keys.append(key)
            return self.answers[min(len(self.requests), len(self.answers)) - 1]


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = self.server.answer_to(body, self.headers.get("authorization", ""))
        self.server.closing.wait(answer.seconds)
        self.send_response(answer.status)
        for name, value in ({"content-type": "application/json"} | answer.headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(answer.promised or len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    server = ScriptedModel()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join(AT_ONCE)


@pytest.fixture
def answer() -> Callable[..., Scripted]:
    """Builds one scripted answer; a body that is not bytes is sent as JSON."""

    def build(body: Any = b"", status: int = 200, **more: Any) -> Scripted:
        encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Scripted(encoded, status, **more)

    return build


@pytest.fixture
def saying() -> Callable[..., dict[str, Any]]:
    """Builds the body of a chat completion."""
    return completion


@pytest.fixture
def config(model: ScriptedModel) -> Callable[..., EndpointConfig]:
    """The scripted model's endpoint, with waits too short to notice."""

    def build(**changed: Any) -> EndpointConfig:
        values = {
            "model": "scripted",
            "base_url": model.url,
            "api_key": "sk-test-key",
            "timeout_seconds": FOREVER,
            "connect_seconds": AT_ONCE,
            "retry_seconds": AT_ONCE,
            "backoff_seconds": 0.01,
        }
        return EndpointConfig.model_validate(values | changed)

    return build


@pytest.fixture
def picture(tmp_path: Path) -> Callable[..., ImageItem]:
    """A PNG on disk, as an item of a memory context."""

    def build(name: str = "0000.png", size: tuple[int, int] = (64, 48)) -> ImageItem:
        path = tmp_path / name
        Image.new("RGB", size, "teal").save(path)
        return ImageItem(path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest())

    return build
