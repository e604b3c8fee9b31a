"""Every back end behind one fixture, so that a claim about sandboxes is written once and tried on each.

A test marked `@pytest.mark.claims(Capability.X, ...)` that takes `backend` (or `start`, `run`) is run on
every back end of this machine. One that does not declare the capability is reported as "n/a" with both
names; one that is missing is skipped with the reason, or fails where RUNBOOK_REQUIRE names it.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from docker import DockerClient

from sandbox.docker_engine import DockerSandbox, connect
from sandbox.image import ensure_image
from sandbox.protocol import ExecResult, Limits, Mount, RunningSandbox, Sandbox, SandboxSpec
from sandbox.reaper import Owner
from tests.waiting import AT_ONCE, FOREVER

MIB = 1024 * 1024
# Small, so that a test that hits a limit hits it at once; time is no limit unless a test says so.
LIMITS = Limits(
    wall_seconds=FOREVER,
    memory_bytes=256 * MIB,
    cpus=1.0,
    pids=64,
    file_bytes=64 * MIB,
    workspace_bytes=64 * MIB,
    workspace_files=2_000,
    scratch_bytes=32 * MIB,
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claims(*capabilities): what a back end must declare to be tested so")


def _docker(request: pytest.FixtureRequest) -> Sandbox:
    backend: Sandbox = request.getfixturevalue("docker_sandbox")
    return backend


def _bubblewrap(request: pytest.FixtureRequest) -> Sandbox:
    backend: Sandbox = request.getfixturevalue("bubblewrap_sandbox")
    return backend


def _process(request: pytest.FixtureRequest) -> Sandbox:
    backend: Sandbox = request.getfixturevalue("process_sandbox")
    return backend


_MAKERS: dict[str, Callable[[pytest.FixtureRequest], Sandbox]] = {
    "docker": _docker,
    "bubblewrap": _bubblewrap,
    "process": _process,
}


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerClient]:
    """A connection to the machine's engine; needs("docker")."""
    engine = connect()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def docker_image(docker_engine: DockerClient) -> str:
    """The tag of a sandbox image without helpers."""
    return ensure_image(docker_engine, {}, None)


@pytest.fixture(scope="session")
def docker_sandbox(
    docker_engine: DockerClient, docker_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """The docker back end on a real engine; needs("docker")."""
    with (
        Owner.open(tmp_path_factory.mktemp("owners")) as owner,
        DockerSandbox(docker_engine, docker_image, owner) as backend,
    ):
        yield backend


@pytest.fixture(scope="session")
def bubblewrap_sandbox() -> Sandbox:
    """The bubblewrap back end; needs("bubblewrap")."""
    from sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox()


@pytest.fixture(scope="session")
def process_sandbox() -> Sandbox:
    """The back end without isolation: any machine has it."""
    from sandbox.process import ProcessSandbox

    return ProcessSandbox()


@pytest.fixture(
    params=[
        pytest.param("docker", marks=pytest.mark.needs("docker")),
        pytest.param("bubblewrap", marks=pytest.mark.needs("bubblewrap")),
        "process",
    ]
)
def backend(request: pytest.FixtureRequest) -> Sandbox:
    made = _MAKERS[request.param](request)
    for marker in request.node.iter_markers("claims"):
        for capability in marker.args:
            if capability not in made.capabilities:
                pytest.skip(f"n/a: {made.name} does not declare {capability}")
    return made


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Sandbox], RunningSandbox]]:
    made: dict[str, RunningSandbox] = {}

    def running_on(backend: Sandbox) -> RunningSandbox:
        if backend.name not in made:
            workspace = tmp_path_factory.mktemp(backend.name)
            made[backend.name] = backend.start(
                SandboxSpec(workspace, replace(LIMITS, wall_seconds=12 * FOREVER))
            )
        return made[backend.name]

    yield running_on
    for sandbox in made.values():
        sandbox.collect()


@pytest.fixture
def running(backend: Sandbox, _running: Callable[[Sandbox], RunningSandbox]) -> RunningSandbox:
    """A started sandbox that many tests share, for those that leave it as it was."""
    return _running(backend)


@dataclass
class Place:
    """A workspace and a read-only haystack on the host, under a random neutral path."""

    workspace: Path
    haystack: Path

    def spec(self, limits: Limits = LIMITS, **changes: object) -> SandboxSpec:
        mounts = (Mount(self.haystack, "haystack"),)
        return replace(SandboxSpec(self.workspace, limits, mounts=mounts), **changes)  # type: ignore[arg-type]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    home = tmp_path / secrets.token_hex(6)
    made = Place(home / "workspace", home / "view")
    made.workspace.mkdir(parents=True)
    (made.haystack / "trajectories" / "t1").mkdir(parents=True)
    (made.haystack / "trajectories" / "t1" / "0000.txt").write_text(
        "url: https://shop.example\n\nRootWebArea\n"
    )
    return made


Start = Callable[..., RunningSandbox]


@pytest.fixture
def start(backend: Sandbox, place: Place) -> Iterator[Start]:
    """Start sandboxes on `place`: start(limits=..., mounts=..., env=...); all are collected at the end."""
    running: list[RunningSandbox] = []

    def start_one(**changes: object) -> RunningSandbox:
        running.append(backend.start(place.spec(**changes)))  # type: ignore[arg-type]
        return running[-1]

    yield start_one
    for sandbox in running:
        sandbox.collect()


@dataclass
class Ran:
    """Everything one command gave."""

    result: ExecResult
    stdout: bytes = b""
    stderr: bytes = b""
    arrivals: list[float] = field(default_factory=list)


def run_in(sandbox: RunningSandbox, argv: Sequence[str], **options: object) -> Ran:
    kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    arrivals = []
    execution = sandbox.exec(argv, **options)  # type: ignore[arg-type]
    for chunk in execution:
        kept[chunk.stream].append(chunk.data)
        arrivals.append(chunk.at)
    return Ran(execution.result(), b"".join(kept["stdout"]), b"".join(kept["stderr"]), arrivals)


@pytest.fixture
def run() -> Callable[..., Ran]:
    """run(sandbox, argv, stdin=..., timeout=..., env=...) -> Ran"""
    return run_in


@pytest.fixture
def limits() -> Limits:
    """The small limits that `start` uses unless told; vary them with dataclasses.replace."""
    return LIMITS


@pytest.fixture
def marker() -> str:
    """A duration for `sleep` that no other process on this host has in its command line."""
    return f"4000.{secrets.randbelow(10**12):012d}"


def alive(marker: str) -> list[int]:
    """Pids of this host, containers included, that carry the marker in their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if marker.encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
    return found


@pytest.fixture
def gone_within() -> Callable[..., bool]:
    """gone_within(marker, seconds=AT_ONCE): whether by then no process carries the marker any more."""

    def wait(marker: str, seconds: float = AT_ONCE) -> bool:
        deadline = time.monotonic() + seconds
        while alive(marker):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    return wait


@pytest.fixture
def alive_now() -> Callable[[str], list[int]]:
    """alive_now(marker): the pids that carry it."""
    return alive
