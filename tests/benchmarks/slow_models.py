"""A reader and a judge behind one address, one of them slow, that note which question is asked about."""

import json
import re
import subprocess
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.scripted_model.reading import judged, read_answer
from tests.scripted_model.wires import chat

SLOW_SECONDS = 0.8
_ID = re.compile(r"\((q-\d+)\)")


class SlowModels(ThreadingHTTPServer):
    """Answers while the context is open. A request is about the question whose id stands in brackets."""

    daemon_threads = True

    def __init__(self, *, slow: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.slow = slow
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.asked: Counter[tuple[str, str]] = Counter()
        """(reader or judge, question id) -> requests."""
        self.faults: list[str] = []
        self._recorded: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._slow_one = threading.Event()

    def __enter__(self) -> "SlowModels":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()

    def recorded(self, role: str, question_ids: set[str]) -> None:
        """From now on requests of this role about these questions are faults."""
        with self._lock:
            self._recorded |= {(role, one) for one in question_ids}

    def note(self, role: str, question_id: str) -> None:
        with self._lock:
            self.asked[role, question_id] += 1
            if (role, question_id) in self._recorded:
                self.faults.append(f"the {role} was asked again about {question_id}, which was recorded")
        if role == self.slow:
            self._slow_one.set()

    def wait_for_a_request(self, process: "subprocess.Popen[bytes]", seconds: float = 120.0) -> None:
        """Until the slow one is asked, or the process ends."""
        self._slow_one.clear()
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None and not self._slow_one.wait(0.1):
            pass


class _Handler(BaseHTTPRequestHandler):
    server: SlowModels

    def do_POST(self) -> None:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = chat.read(body, self.path)
        role = said.model
        question = said.prompt.rpartition("# Question")[2] if role == "reader" else said.prompt
        if (found := _ID.search(question)) is None:
            self._reply("ready")  # the tiny request before a run
            return
        self.server.note(role, found[1])
        if role == self.server.slow:
            time.sleep(SLOW_SECONDS)
        self._reply(read_answer(said) if role == "reader" else judged(said))

    def _reply(self, text: str) -> None:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        content = json.dumps({"model": "scripted", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # the run was killed
            self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        pass
