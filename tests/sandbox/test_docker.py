"""What only the docker back end promises: its containers, its errors, many at once."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from docker import APIClient, DockerClient
from hypothesis import given
from hypothesis import strategies as st

from sandbox.accounts import Account
from sandbox.docker_engine import DockerSandbox, connect
from sandbox.docker_exec import Connection, Demultiplexer
from sandbox.doctor import can_bind_mount, docker_checks
from sandbox.protocol import Capability, Ending, Limits, Mount, Sandbox, SandboxError, SandboxSpec
from sandbox.reaper import OWNER_LABEL, Owner, find_leftovers, reap
from tests.waiting import AT_ONCE, FOREVER

DRIVER = Path(__file__).with_name("drive.py")
needs_docker = pytest.mark.needs("docker")


@pytest.fixture
def owned(docker_engine: DockerClient, docker_image: str, tmp_path: Path):
    """A back end of its own and a count of its containers."""
    with (
        Owner.open(tmp_path / "owners") as owner,
        DockerSandbox(docker_engine, docker_image, owner) as backend,
    ):
        label = {"label": f"{OWNER_LABEL}={owner.path.name}"}
        yield backend, lambda: docker_engine.api.containers(all=True, filters=label)


def gone(containers: Callable[[], object]) -> bool:
    deadline = time.monotonic() + AT_ONCE
    while containers():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@needs_docker
def test_every_capability_is_declared(docker_sandbox: Sandbox) -> None:
    assert docker_sandbox.capabilities == frozenset(Capability)


@needs_docker
def test_container_is_set_up_as_documented(owned, docker_engine: DockerClient, place) -> None:
    backend, containers = owned
    running = backend.start(place.spec(labels={"run": "r1", "attempt": "a1"}))
    (listed,) = containers()
    state = docker_engine.api.inspect_container(listed["Id"])
    config, host = state["Config"], state["HostConfig"]
    assert (host["ReadonlyRootfs"], host["NetworkMode"], host["LogConfig"]["Type"]) == (True, "none", "none")
    assert (host["CapDrop"], host["SecurityOpt"]) == (["ALL"], ["no-new-privileges"])
    assert host["Memory"] == host["MemorySwap"] == place.spec().limits.memory_bytes
    assert (host["PidsLimit"], host["NanoCpus"]) == (place.spec().limits.pids, 10**9)
    assert host["AutoRemove"]
    assert config["Labels"]["agent-runbook.run"] == "r1"
    assert not any(variable.lower().startswith(("http", "no_proxy", "ftp")) for variable in config["Env"])
    running.collect()
    assert gone(containers)


@needs_docker
def test_nothing_is_left_of_a_start_that_fails(owned, place, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, containers = owned

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DockerSandbox, "_check_read_only", interrupted)
    with pytest.raises(KeyboardInterrupt):
        backend.start(place.spec())
    assert gone(containers)
    assert list(place.workspace.iterdir()) == []
    assert place.workspace.stat().st_uid == os.geteuid()


@needs_docker
def test_image_that_is_gone_is_an_error_with_a_mend(docker_engine, place, tmp_path: Path) -> None:
    with (
        Owner.open(tmp_path / "owners") as owner,
        DockerSandbox(docker_engine, "no-such:image", owner) as backend,
        pytest.raises(SandboxError, match="image is gone") as caught,
    ):
        backend.start(place.spec())
    assert caught.value.mend
    assert list(place.workspace.iterdir()) == []


@needs_docker
@pytest.mark.parametrize("target", ["..", "../x", "/", ".", "/workspace", "haystack"])
def test_mount_that_would_hide_another_is_refused(owned, place, target: str) -> None:
    backend, _ = owned
    mounts = (Mount(place.haystack, "haystack"), Mount(place.haystack, target))
    with pytest.raises(SandboxError, match="cannot mount"):
        backend.start(place.spec(mounts=mounts))


@needs_docker
def test_mount_at_an_absolute_path(owned, place, run) -> None:
    backend, _ = owned
    mounts = (Mount(place.haystack, "/opt/tools/v1"),)
    running = backend.start(place.spec(mounts=mounts))
    assert backend.locate(place.workspace, mounts[0]) == "/opt/tools/v1"
    ran = run(running, ["sh", "-c", "ls /opt/tools/v1; touch /opt/tools/v1/x 2>/dev/null || echo refused"])
    running.collect()
    assert ran.stdout == b"trajectories\nrefused\n"


@needs_docker
def test_container_killed_from_outside_is_lost_and_not_exited(owned, docker_engine, place, run) -> None:
    backend, containers = owned
    running = backend.start(place.spec())
    execution = running.exec(["sh", "-c", f"echo up; sleep {FOREVER}"])
    for chunk in execution:
        assert chunk.data == b"up\n"
        docker_engine.api.kill(containers()[0]["Id"])
    assert execution.result().ending is Ending.LOST
    assert run(running, ["true"]).result.ending is Ending.LOST
    running.collect()


@needs_docker
def test_close_ends_what_still_runs_and_starts_no_more(docker_engine, docker_image, place, tmp_path) -> None:
    with Owner.open(tmp_path / "owners") as owner:
        backend = DockerSandbox(docker_engine, docker_image, owner)
        execution = backend.start(place.spec()).exec(["sleep", str(FOREVER)])
        backend.close()
        assert execution.result().ending is Ending.STOPPED
        label = {"label": f"{OWNER_LABEL}={owner.path.name}"}
        assert gone(lambda: docker_engine.api.containers(all=True, filters=label))
        with pytest.raises(SandboxError, match="closed"):
            backend.start(place.spec())


@needs_docker
def test_reaper_takes_what_a_killed_process_left_and_nothing_of_a_live_one(
    docker_engine, owned, place, tmp_path: Path, marker: str, gone_within
) -> None:
    backend, containers = owned
    (tmp_path / "other").mkdir()
    alive = backend.start(SandboxSpec(tmp_path / "other", Limits(wall_seconds=FOREVER)))
    command = [sys.executable, DRIVER, "docker", place.workspace, place.haystack, marker, str(FOREVER)]
    environment = {**os.environ, "PYTHONPATH": str(DRIVER.parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert find_leftovers(docker_engine) == []
        process.kill()
    (leftover,) = reap(docker_engine)
    assert gone_within(marker)
    assert leftover.labels["agent-runbook.run"] == "driven"
    assert gone(lambda: find_leftovers(docker_engine))
    assert len(containers()) == 1
    alive.collect()


@needs_docker
def test_neither_threads_nor_descriptors_are_left(owned, place, run) -> None:
    backend, _ = owned

    def use_once() -> None:
        running = backend.start(place.spec())
        run(running, ["cat"], stdin=b"x" * 100_000, timeout=AT_ONCE)
        running.exec(["sleep", str(FOREVER)])  # never read
        running.collect()

    def in_use() -> tuple[int, int]:
        return threading.active_count(), len([*Path("/proc/self/fd").iterdir()])

    use_once()
    threads, descriptors = in_use()
    use_once()
    use_once()
    assert gone(lambda: in_use()[0] > threads or in_use()[1] > descriptors)


@needs_docker
@pytest.mark.timeout(2 * FOREVER)
def test_64_at_once(owned, tmp_path: Path, limits: Limits, run) -> None:
    backend, containers = owned
    everybody = threading.Barrier(64)
    haystack = tmp_path / "view"
    haystack.mkdir()

    def one(number: int) -> tuple[bytes, Ending, float]:
        workspace = tmp_path / f"{number}"
        workspace.mkdir()
        spec = SandboxSpec(
            workspace, replace(limits, wall_seconds=6 * FOREVER), (Mount(haystack, "haystack"),)
        )
        running = backend.start(spec)
        execution = running.exec(
            ["sh", "-c", f"echo {number}; setsid sleep {6 * FOREVER} & sleep {6 * FOREVER}"]
        )
        first = next(iter(execution)).data
        everybody.wait(FOREVER)
        began = time.monotonic()
        running.stop()
        seconds = time.monotonic() - began
        running.collect()
        return first, execution.result().ending, seconds

    with ThreadPoolExecutor(64) as pool:
        ended = list(pool.map(one, range(64)))
    assert [first for first, _, _ in ended] == [b"%d\n" % number for number in range(64)]
    assert {ending for _, ending, _ in ended} == {Ending.STOPPED}
    assert max(seconds for _, _, seconds in ended) < AT_ONCE
    assert gone(containers)


@needs_docker
def test_canary_is_read_through_a_bind_mount(docker_engine, docker_image: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert can_bind_mount(docker_engine, docker_image, tmp_path)
    assert list(tmp_path.iterdir()) == []


@needs_docker
def test_doctor_finds_this_machine_fit() -> None:
    checks = docker_checks({}, None)
    assert [check.name for check in checks if not check.ok and check.name != "docker leftovers"] == []
    assert len(checks) == 5


@needs_docker
def test_doctor_names_the_mend_for_a_missing_base() -> None:
    checks = {check.name: check for check in docker_checks({}, "no/such-base:tag")}
    assert not checks["docker image"].ok
    assert "--base-image" in checks["docker image"].mend


def test_engine_that_is_not_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SandboxError) as caught:
        connect()
    assert "No such file or directory" in str(caught.value)
    assert "\n" not in str(caught.value)
    (check,) = docker_checks({}, None)
    assert (check.ok, bool(check.mend)) == (False, True)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40))), st.integers(1, 30))
def test_frames_are_taken_apart_whatever_pieces_they_arrive_in(
    frames: list[tuple[int, bytes]], size: int
) -> None:
    wire = b"".join(bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for stream, data in frames)
    taken = {"stdout": b"", "stderr": b""}
    demultiplexer = Demultiplexer()
    for start in range(0, len(wire), size):
        for stream, data in demultiplexer.feed(wire[start : start + size]):
            taken[stream] += data
    for number, stream in ((1, "stdout"), (2, "stderr")):
        assert taken[stream] == b"".join(data for of, data in frames if of == number)


def test_output_that_comes_in_one_piece_with_the_header_is_not_lost(tmp_path: Path) -> None:
    header = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "engine.sock"))
        server.listen()

        def answer() -> None:
            accepted, _ = server.accept()
            with accepted:
                request = b""
                while not request.endswith(b"}"):
                    request += accepted.recv(65536)
                accepted.sendall(header + b"early")
                accepted.recv(1)
                accepted.sendall(b"late")

        engine = threading.Thread(target=answer)
        engine.start()
        api = APIClient(base_url=f"unix://{tmp_path}/engine.sock", version="1.41")
        connection = Connection(api, "exec-id")
        received = [connection.receive(AT_ONCE)]
        assert connection.send(memoryview(b"x")) == 1
        received += [connection.receive(AT_ONCE), connection.receive(AT_ONCE)]
        connection.close()
        engine.join()
        api.close()
    assert received == [b"early", b"late", b""]


def test_caller_who_is_root_becomes_an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Account.of_caller() == Account(1000, 1000)
    monkeypatch.setattr(os, "geteuid", lambda: 501)
    monkeypatch.setattr(os, "getegid", lambda: 20)
    assert Account.of_caller() == Account(501, 20)
    assert "agent:x:501:20:" in Account.of_caller().passwd
