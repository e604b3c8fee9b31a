"""Memory of a reader over a whole benchmark: screenshots live as long as their request and no longer.

    python -m tests.benchmarks.reader_memory [--questions 451] [--screenshots 20] [--kilobytes 230]

Reads the questions one after the other, and then several at a time as a run does, against a server of its own
process that reads and forgets what it is sent. Prints the resident memory above idle, and the floor: one
request's size as it must exist at least once, encoded.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image

from evals.question import EvalQuestion
from evals.reader import Reader
from runbook.context import ContextItem, ImageItem, MemoryContext, TextItem
from runbook.endpoint.config import EndpointConfig

ALLOWED_MB = 100
_REPLY = json.dumps(
    {
        "model": "m",
        "choices": [{"message": {"role": "assistant", "content": "\\boxed{red}"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()


class _Forgets(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        left = int(self.headers["content-length"])
        while left:
            left -= len(self.rfile.read(min(left, 65536)))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(_REPLY)))
        self.end_headers()
        self.wfile.write(_REPLY)

    def log_message(self, *arguments: object) -> None:
        pass


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Forgets)
    print(server.server_port, flush=True)
    server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=451)
    parser.add_argument("--screenshots", type=int, default=20)
    parser.add_argument("--kilobytes", type=int, default=230)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return 0
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.reader_memory", "--serve"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        with tempfile.TemporaryDirectory() as folder:
            return measure(Path(folder), port, chosen)
    finally:
        server.kill()
        server.wait()


def measure(folder: Path, port: int, chosen: argparse.Namespace) -> int:
    context = context_of(folder, chosen.screenshots, chosen.kilobytes)
    sent = sum(Path(one.path).stat().st_size for one in context.items if isinstance(one, ImageItem)) * 4 / 3
    config = EndpointConfig(model="m", base_url=f"http://127.0.0.1:{port}/v1")
    worst = 0.0
    with closing(Reader(config)) as reader:
        reader.read(question(0), MemoryContext())  # connections and imports are idle's
        idle = resident()
        for workers in (1, 2):
            with Watching() as watching:
                began = time.monotonic()
                with ThreadPoolExecutor(workers) as pool:
                    readings = pool.map(
                        lambda number: reader.read(question(number), context), range(chosen.questions)
                    )
                    longest = max(len(one.model_dump_json()) for one in readings)
                seconds = time.monotonic() - began
            above = watching.peak - idle
            worst = max(worst, above)
            print(
                f"{workers} at a time: {chosen.questions} questions in {seconds:.0f} s, "
                f"at most {above:.0f} MB above idle ({idle:.0f} MB), {resident() - idle:+.0f} MB after it; "
                f"{above / (sent / 1e6):.1f} x one request; longest record {longest} bytes"
            )
    verdict = "kept" if worst <= ALLOWED_MB else "BROKEN"
    print(f"floor: one encoded request is {sent / 1e6:.1f} MB; promise of {ALLOWED_MB} MB: {verdict}")
    return 0 if worst <= ALLOWED_MB else 1


def context_of(folder: Path, screenshots: int, kilobytes: int) -> MemoryContext:
    """A context of pictures of noise, which PNG cannot make smaller, each after a text."""
    items: list[ContextItem] = []
    side = int((kilobytes * 1000 / 3) ** 0.5)
    for number in range(screenshots):
        path = folder / f"{number}.png"
        Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)).save(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        items += [
            TextItem(text=f"State {number}: " + "some words " * 2000),
            ImageItem(path=str(path), sha256=digest),
        ]
    return MemoryContext(items=tuple(items))


def question(number: int) -> EvalQuestion:
    return EvalQuestion(
        id=f"q{number}",
        domain="web",
        question_type="static-environment",
        question="Which colour?",
        image=None,
        answer="red",
        eval_function="norm_phrase_set_match",
    )


class Watching:
    """The highest resident memory while the context is open, sampled every few milliseconds."""

    def __init__(self) -> None:
        self.peak = resident()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watching":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.005):
            self.peak = max(self.peak, resident())


def resident() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main())
