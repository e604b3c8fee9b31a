"""When the watch ends an attempt with a model, and what is then said of it."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from runbook.deciding import decide
from runbook.evidence import InvalidEvidence, Refusal
from runbook.gateway import Budget, Gateway, GatewaySettings, Line, LineOrder, ProviderSettings, Wire
from runbook.outcomes import Outcome
from runbook.venue import Facts
from runbook.watching import SUBMITTED_FILE, AttemptWatch, StopReason, WatchOrder
from sandbox.protocol import Ending
from tests.waiting import AT_ONCE, FOREVER

NOTHING = InvalidEvidence(Refusal.MISSING, "there is no evidence file")


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """The address of a provider that knows no key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = b'{"error": {"message": "no such key"}}'
            self.send_response(401)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def gateway(refusing: str) -> Iterator[Gateway]:
    provider = ProviderSettings(base_url=refusing, wires=(Wire.OPENAI_CHAT,))
    with Gateway(GatewaySettings(providers={"refusing": provider})) as gateway:
        yield gateway


def open_line(gateway: Gateway, folder: Path, budget: Budget) -> Line:
    folder.mkdir()
    return gateway.open_line(LineOrder(folder=folder, wire=Wire.OPENAI_CHAT, model="m", budget=budget))


def watched(
    tmp_path: Path, line: Line | None, *, idle: float = FOREVER, seconds: float = AT_ONCE
) -> AttemptWatch:
    """A watch that has ended an attempt, or has looked on for `seconds`."""
    workspace = tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    order = WatchOrder(
        workspace=workspace,
        cancel=threading.Event(),
        grace_seconds=FOREVER,
        is_valid=lambda _: False,
        line=line,
        idle_seconds=idle,
    )
    over = threading.Event()
    with AttemptWatch(order, over.set) as watch:
        over.wait(seconds)
    return watch


def test_an_attempt_over_its_wall_time_ends_and_is_said_to_be_over_budget(
    gateway: Gateway, tmp_path: Path
) -> None:
    line = open_line(gateway, tmp_path / "attempt", Budget(seconds=0.2))
    watch = watched(tmp_path, line)
    assert watch.reason is StopReason.BUDGET
    facts = Facts(ending=Ending.STOPPED, stopped_for=watch.reason)
    assert decide(facts, NOTHING, line.close())[0] is Outcome.BUDGET_EXCEEDED


def test_an_agent_with_neither_output_nor_traffic_stalls(gateway: Gateway, tmp_path: Path) -> None:
    line = open_line(gateway, tmp_path / "attempt", Budget())
    assert watched(tmp_path, line, idle=0.3).reason is StopReason.STALLED
    line.close()


def test_an_agent_without_a_line_has_only_its_deadline(tmp_path: Path) -> None:
    assert watched(tmp_path, None, idle=0.1, seconds=0.6).reason is None


def test_a_submission_ends_an_attempt_at_once(gateway: Gateway, tmp_path: Path) -> None:
    line = open_line(gateway, tmp_path / "attempt", Budget())
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / SUBMITTED_FILE).write_text("")
    assert watched(tmp_path, line).reason is StopReason.SUBMITTED
    line.close()


def test_an_agent_that_asks_a_failing_model_again_and_again_is_ended(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runbook.watching.FAILING_SECONDS", 0.5)
    line = open_line(gateway, tmp_path / "attempt", Budget())
    over = threading.Event()

    def ask_again_and_again() -> None:
        transport = httpx.HTTPTransport(uds=str(line.socket), verify=False)
        address = f"http://agent{line.prefix}"
        with httpx.Client(transport=transport, base_url=address, timeout=AT_ONCE) as client:
            while not over.wait(0.1):
                client.post("/v1/chat/completions", json={"model": "m", "messages": []})

    agent = threading.Thread(target=ask_again_and_again)
    agent.start()
    try:
        watch = watched(tmp_path, line)
    finally:
        over.set()
        agent.join()
    assert watch.reason is StopReason.MODEL_FAILS
    facts = Facts(ending=Ending.STOPPED, stopped_for=watch.reason)
    assert decide(facts, NOTHING, line.close())[0] is Outcome.AUTH_ERROR
