"""The forwarder that `launch` leaves behind: from a loopback port of the sandbox to the gateway's socket."""

import http.client
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.helpers.test_launch import ROOT, launch
from tests.waiting import AT_ONCE, FOREVER

# A forwarder with other times than its own.
FORWARD = """
import json, sys
from helpers.launch import forwarder
vars(forwarder).update(json.loads(sys.argv[2]))
listener = forwarder.listen(0)
print(listener.getsockname()[1], flush=True)
forwarder.Forwarder(listener, sys.argv[1]).run()
"""


class Gateway(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers each connection by `answer(connection)`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, answer: Callable[[socket.socket], None]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    answer(self.request)

        super().__init__(str(path), Handler)
        path.chmod(0o666)
        self.path = path
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def end(self) -> None:
        self.shutdown()
        self.server_close()
        self.path.unlink()


def echo(connection: socket.socket) -> None:
    """Send back what comes, and end when the other side has ended."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.sock"


@pytest.fixture
def gateway(path: Path) -> Iterator[Gateway]:
    made = Gateway(path, echo)
    yield made
    with suppress(OSError):
        made.end()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.fixture
def port(path: Path, tmp_path: Path) -> Iterator[int]:
    """The loopback port of a launched forwarder; the forwarder is ended afterwards."""
    for _ in range(20):
        number = free_port()
        done = launch({"port": number, "socket": str(path)}, sys.executable, "-c", "pass")
        if "in use" not in done.stderr:  # by somebody who was quicker
            break
    assert done.returncode == 0, done.stderr
    yield number
    for pid in forwarders(path):
        os.kill(pid, 9)


@pytest.fixture
def forward(path: Path) -> Iterator[Callable[..., int]]:
    """Starts a forwarder whose times are given, in seconds; its port."""
    with ExitStack() as stack:

        def start(**times: float) -> int:
            argv = [sys.executable, "-c", FORWARD, str(path), json.dumps(times)]
            process = stack.enter_context(subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            assert process.stdout is not None
            return int(process.stdout.readline())

        yield start


def forwarders(path: Path) -> list[int]:
    """Living processes that forward to `path`: their environment, which is launch's own, names it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(path).encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=AT_ONCE)


def read_all(link: socket.socket) -> bytes:
    return b"".join(iter(lambda: link.recv(1 << 16), b""))


def test_the_forwarder_does_not_hold_the_agents_streams(gateway: Gateway) -> None:
    begun = time.monotonic()
    done = launch({"port": 0, "socket": str(gateway.path)}, "echo", "said")
    assert done.stdout == "said\n"
    assert time.monotonic() - begun < AT_ONCE  # run() waits for the end of both streams
    for pid in forwarders(gateway.path):
        os.kill(pid, 9)


def test_the_agent_has_no_child_that_it_did_not_start(gateway: Gateway) -> None:
    ask = "import os\ntry:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('none')"
    done = launch({"port": 0, "socket": str(gateway.path)}, sys.executable, "-c", ask)
    assert done.stdout == "none\n"
    for pid in forwarders(gateway.path):
        os.kill(pid, 9)


def test_bytes_pass_both_ways_and_a_half_close_is_passed_on(gateway: Gateway, port: int) -> None:
    with connect(port) as link:
        link.sendall(b"question")
        link.shutdown(socket.SHUT_WR)
        assert read_all(link) == b"question"


def test_a_stream_is_forwarded_as_it_comes(path: Path, port: int) -> None:
    go_on = threading.Event()

    def in_pieces(connection: socket.socket) -> None:
        connection.sendall(b"first")
        go_on.wait(FOREVER)
        connection.sendall(b"second")

    server = Gateway(path, in_pieces)
    with connect(port) as link:
        assert link.recv(100) == b"first"
        go_on.set()
        assert link.recv(100) == b"second"
    server.end()


def test_64_streams_at_once_carry_big_bodies(gateway: Gateway, port: int) -> None:
    body = os.urandom(1 << 20)
    right: list[int] = []

    def one(number: int) -> None:
        with connect(port) as link:
            sender = threading.Thread(target=lambda: (link.sendall(body), link.shutdown(socket.SHUT_WR)))
            sender.start()
            if read_all(link) == body:
                right.append(number)
            sender.join()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(right) == list(range(64))


def test_a_reader_that_stops_holds_the_sender_up(path: Path, port: int) -> None:
    sent, held_up = [0], threading.Event()

    def flood(connection: socket.socket) -> None:
        connection.settimeout(0.5)
        try:
            for _ in range(1000):
                connection.sendall(bytes(1 << 18))
                sent[0] += 1 << 18
        except TimeoutError:
            held_up.set()

    server = Gateway(path, flood)
    with connect(port):
        assert held_up.wait(AT_ONCE)
        assert sent[0] < 32 << 20  # what socket buffers hold, not what the sender has
    server.end()


def test_an_answer_that_comes_before_the_whole_request_arrives(path: Path, port: int) -> None:
    def refuse(connection: socket.socket) -> None:
        connection.recv(10)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

    server = Gateway(path, refuse)
    with connect(port) as link:
        with suppress(OSError):
            link.sendall(bytes(4 << 20))
        assert link.recv(100).startswith(b"HTTP/1.1 413")
    server.end()


def test_a_new_request_on_a_connection_that_the_gateway_closed_fails_at_once(
    path: Path, forward: Callable[..., int]
) -> None:
    def once(connection: socket.socket) -> None:
        connection.sendall(connection.recv(100))

    server = Gateway(path, once)
    with connect(forward(LINGER=FOREVER)) as link:
        link.sendall(b"one")
        assert read_all(link) == b"one"
        assert is_cut_off(link, b"two")
    server.end()


def test_a_client_that_never_stops_sending_is_cut_off(path: Path, forward: Callable[..., int]) -> None:
    server = Gateway(path, lambda connection: connection.sendall(connection.recv(10)))
    with connect(forward(LINGER=0.5)) as link:
        assert is_cut_off(link, bytes(1 << 16))
    server.end()


def is_cut_off(link: socket.socket, piece: bytes) -> bool:
    """Whether a client that goes on sending is stopped before long."""
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < AT_ONCE:
            link.sendall(piece)
            time.sleep(0.005)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def test_a_client_that_goes_away_is_noticed(path: Path, port: int) -> None:
    gone = threading.Event()

    def stream(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"piece")
                time.sleep(0.02)
        except OSError:
            gone.set()

    server = Gateway(path, stream)
    link = connect(port)
    link.recv(5)
    link.close()
    assert gone.wait(AT_ONCE)
    server.end()


def test_a_gateway_that_was_restarted_is_found_again(
    gateway: Gateway, forward: Callable[..., int], path: Path
) -> None:
    port = forward(PATIENCE=FOREVER)
    with connect(port) as link:
        link.sendall(b"one")
        assert link.recv(10) == b"one"
    gateway.end()
    with connect(port) as link:
        link.sendall(b"two")
        time.sleep(0.3)  # for the forwarder to look in vain
        server = Gateway(path, echo)
        assert link.recv(10) == b"two"
    server.end()


def test_without_a_gateway_the_client_is_told_in_http(forward: Callable[..., int]) -> None:
    port = forward(PATIENCE=0.3)
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=AT_ONCE)) as client:
        client.request("POST", "/v1/responses", body=bytes(1 << 20))
        answer = client.getresponse()
        assert answer.status == 502
        assert "gateway" in json.loads(answer.read())["error"]["message"]


def test_an_idle_forwarder_uses_no_processor(gateway: Gateway, port: int, path: Path) -> None:
    with connect(port) as link:
        link.sendall(b"one")
        link.recv(10)
        (pid,) = forwarders(path)
        before = _ticks(pid)
        time.sleep(0.5)
        assert _ticks(pid) - before <= 2


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
