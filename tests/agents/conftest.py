"""Real agent CLIs in a sandbox without network, against the scripted model behind a unix socket."""

import asyncio
import json
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from runbook.agents import AdapterAgent, Surroundings, make_agent
from runbook.launching import MODEL_FOLDER, SOCKET, base_url, launched
from sandbox.protocol import Limits, Mount, Sandbox, SandboxSpec
from tests.agent_tools import REPOSITORY, install, sandbox_of, tool_chains
from tests.scripted_model.server import ScriptedModel

PROMPT = "Answer the question in question.json. PROMPT-MARK"
MODELS = {"gemini-cli": "gemini-2.5-pro"}  # a name it knows; the others take any
KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
CONFIGURATION = (".claude", ".codex", ".gemini", ".qwen", ".pi/agent", ".config/opencode")
CANARIES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", "opencode.json", ".mcp.json")


@dataclass(frozen=True)
class Ran:
    """How a CLI ended, what it said, and what it asked the model."""

    exit_code: int | None
    stdout: str
    stderr: str
    requests: list[dict[str, Any]]
    workspace: Path
    seconds: float

    @property
    def results(self) -> int:
        """Tool results in the last request of the conversation."""
        return max(map(_results, (one["body"] for one in self.requests)), default=0)

    @property
    def sent(self) -> str:
        """Everything that reached the model: headers and bodies."""
        return json.dumps([[one["headers"], one["body"]] for one in self.requests])


def _results(body: Any) -> int:
    """Tool results in a request body of any of the four wires."""
    if not isinstance(body, dict):
        return 0
    inputs = body.get("input") if isinstance(body.get("input"), list) else []
    blocks = [one.get("content") for one in body.get("messages", [])]
    parts = [part for one in body.get("contents", []) for part in one.get("parts", [])]
    return (
        sum(str(one.get("type", "")).endswith("_call_output") for one in inputs)
        + sum(one.get("role") == "tool" for one in body.get("messages", []))
        + sum(part.get("type") == "tool_result" for one in blocks if isinstance(one, list) for part in one)
        + sum("functionResponse" in part for part in parts)
    )


@contextmanager
def scripted_socket(mode: str, log: Path) -> Iterator[Path]:
    """The scripted model at a unix socket that anybody may use; yields the folder of the socket."""
    with tempfile.TemporaryDirectory(prefix="") as folder, socket.socket(socket.AF_UNIX) as listening:
        Path(folder).chmod(0o711)
        path = Path(folder, "model.sock")
        listening.bind(str(path))
        path.chmod(0o666)
        listening.listen(64)
        app = ScriptedModel(mode=mode, log=log).app()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, ws="none"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield Path(folder)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Callable[[str], Sandbox]]:
    """The back ends by name, each opened once."""
    opened: dict[str, Sandbox] = {}
    with ExitStack() as stack:

        def of(name: str) -> Sandbox:
            if name not in opened:
                opened[name] = sandbox_of(name, stack)
            return opened[name]

        yield of


@pytest.fixture
def run_cli(
    sandbox: Callable[[str], Sandbox], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Install an agent if need be and let it answer in a fresh workspace with canaries all around it."""

    def run(name: str, *, backend: str = "docker", mode: str = "ok", seconds: float = 240.0) -> Ran:
        where = sandbox(backend)
        install(name, where)
        agent = make_agent(name, None, model=MODELS.get(name, "scripted-model"), tool_chains=tool_chains())
        assert isinstance(agent, AdapterAgent)
        workspace = tmp_path / "above" / "workspace"
        workspace.mkdir(parents=True)
        (workspace / "question.json").write_text('{"question": "why?", "image": null}')
        plant_canaries(tmp_path / "host-home", workspace.parent, monkeypatch)
        return answer(agent.fitted(where), where, workspace, mode, seconds)

    return run


def plant_canaries(home: Path, above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What CLIs look for on a host, with a mark in it: instructions, configuration and keys."""
    for folder in (above, home, *(home / name for name in CONFIGURATION)):
        folder.mkdir(parents=True, exist_ok=True)
        for file in CANARIES:
            (folder / file).write_text('{"instructions": "CANARY"}')
    monkeypatch.setenv("HOME", str(home))
    for name in KEYS:
        monkeypatch.setenv(name, "CANARY-key")


def answer(
    agent: AdapterAgent, sandbox: Sandbox, workspace: Path, mode: str, seconds: float, *, image: bool = False
) -> Ran:
    """Run a fitted agent in `sandbox`, as the controller does."""
    log = workspace.parent / "requests.jsonl"
    log.touch()
    inside = sandbox.locate(workspace, Mount(workspace, "."))
    invocation = agent.invocation(
        Surroundings(
            workspace=inside,
            python=sandbox.python,
            helpers="/opt/launcher",
            prompt=PROMPT,
            budget=20,
            base_url=base_url(""),
            image=f"{inside}/question_image.png" if image else "",
        )
    )
    with scripted_socket(mode, log) as folder:
        spec = SandboxSpec(
            workspace=workspace,
            limits=Limits(wall_seconds=seconds, cpus=2.0),
            mounts=(
                *invocation.mounts,
                Mount(folder, MODEL_FOLDER),
                Mount(REPOSITORY / "helpers", "/opt/launcher"),
            ),
        )
        command = launched(
            invocation, python=sandbox.python, helpers="/opt/launcher", socket=f"{MODEL_FOLDER}/{SOCKET}"
        )
        running = sandbox.start(spec)
        output = {"stdout": b"", "stderr": b""}
        try:
            execution = running.exec(command.argv, stdin=command.stdin, env=command.env, timeout=seconds)
            for chunk in execution:
                output[chunk.stream] += chunk.data
            result = execution.result()
        finally:
            running.collect()
    return Ran(
        exit_code=result.exit_code,
        stdout=output["stdout"].decode("utf-8", "replace"),
        stderr=output["stderr"].decode("utf-8", "replace"),
        requests=[json.loads(line) for line in log.read_text().splitlines()],
        workspace=workspace,
        seconds=result.seconds,
    )
