"""A provider that has no room costs a question time, and no attempt."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import helpers
from instructions import InstructionOptions
from manifests.importing import import_lme_v2
from manifests.store import Store
from manifests.views import View, Views
from runbook.agents import Invocation, Surroundings
from runbook.attempt import Arm, AttemptSettings
from runbook.controller import AgentMemory
from runbook.gateway import Gateway, GatewaySettings, ProviderSettings, Wire
from runbook.memory import QueryResult, QueryTask
from runbook.outcomes import Outcome
from runbook.question import Question
from runbook.venue import SandboxVenue
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.protocol import Limits, Mount
from tests.waiting import FOREVER

PROGRAM = """
import json, sys, urllib.request
body = json.dumps({"model": "m", "messages": []}).encode()
headers = {"content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v1/chat/completions", body, headers)).read()
with open("memory_module_output.json", "w") as file:
    json.dump({"memory_markdown": "asked and answered", "trajectory_spans": []}, file)
"""
LIMITED = b'{"error": {"message": "no room", "type": "rate_limit_error"}}'
ANSWER = (
    b'{"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", '
    b'"content": "yes"}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}'
)


class OneCall:
    """Asks its model once, then writes evidence."""

    name = "one-call"
    version = "1"
    trusted = False
    reads_prompt = False
    wire = Wire.OPENAI_CHAT
    model = "m"
    stream = ""

    def invocation(self, surroundings: Surroundings) -> Invocation:
        return Invocation(argv=(surroundings.python, "-c", PROGRAM, surroundings.base_url))


@pytest.fixture
def provider() -> Iterator[tuple[str, list[int]]]:
    """Its address, and what it answers: statuses in turn, the last one for ever."""
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
            body = ANSWER if status == 200 else LIMITED
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", statuses
    server.shutdown()
    server.server_close()


@pytest.fixture
def view(make_data_root: Callable[..., Path], tmp_path: Path) -> Iterator[View]:
    store = Store.open(tmp_path / "store")
    slugs = import_lme_v2(make_data_root(tmp_path / "data"), store).slugs.values()
    with Views(store).acquire(slugs) as view:
        yield view


def asked(view: View, tmp_path: Path, url: str) -> QueryResult:
    settings = AttemptSettings(
        limits=Limits(wall_seconds=FOREVER),
        instruction=InstructionOptions(helper=False),
        helper_usage="",
        workspaces=tmp_path,
        grace_seconds=FOREVER,
    )
    venue = SandboxVenue(BubblewrapSandbox(), Mount(Path(helpers.__file__).parent, "/opt/helpers"))
    own = ProviderSettings(base_url=url, wires=(Wire.OPENAI_CHAT,))
    with Gateway(GatewaySettings(providers={"own": own}, retry_seconds=0)) as gateway:
        memory = AgentMemory(Arm(OneCall(), venue, settings, gateway=gateway), attempts=1)
        return memory.query(
            QueryTask(
                question=Question(text="Which?"),
                haystack=view,
                folder=tmp_path / "attempts",
                cancel=threading.Event(),
                labels={},
            )
        )


@pytest.mark.needs("bubblewrap")
def test_a_limit_that_passes_takes_time_and_no_attempt(
    view: View, tmp_path: Path, provider: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runbook.controller.RATE_LIMIT_PAUSE", 0.1)
    url, statuses = provider
    statuses += [429, 429, 200]
    result = asked(view, tmp_path, url)
    assert [attempt.outcome for attempt in result.attempts] == ["rate_limited", "rate_limited", "ok"]
    assert result.timings["rate_limit"] >= 0.2
    assert result.seconds > result.timings["rate_limit"]


@pytest.mark.needs("bubblewrap")
def test_a_limit_that_lasts_is_nobodys_answer(
    view: View, tmp_path: Path, provider: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runbook.controller.RATE_LIMIT_PAUSE", 0.1)
    monkeypatch.setattr("runbook.controller.RATE_LIMIT_PATIENCE", 1.0)
    url, statuses = provider
    statuses += [429]
    result = asked(view, tmp_path, url)
    assert result.outcome is Outcome.RATE_LIMITED
    assert result.evidence is None
