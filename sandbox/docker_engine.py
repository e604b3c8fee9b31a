"""The docker back end: every capability, on any engine that shares this host's file system."""

import os
import posixpath
import secrets
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

import docker
from docker import APIClient, DockerClient
from docker.errors import DockerException, NotFound
from docker.types import LogConfig, Ulimit
from docker.types import Mount as EngineMount

from sandbox.accounts import HOME, Account
from sandbox.docker_exec import ENGINE_ERRORS
from sandbox.docker_running import WORKSPACE, RunningDocker, destroy
from sandbox.image import INIT, PYTHON
from sandbox.protocol import MIB, Capability, Mount, RunningSandbox, SandboxError, SandboxSpec
from sandbox.reaper import LABEL, OWNER_LABEL, Owner
from sandbox.workspace import MountPoints, lend, take_back

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"HOME": HOME, "PATH": PATH, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}

_HOSTNAME = "localhost"
_SHM_BYTES = 64 * MIB
_SELF_END_SECONDS = 5  # how long after the deadline the container ends by itself if we do not end it
_ANSWER_SECONDS = 120  # an engine that starts 64 containers at once is slow, not gone
_KILL_ANSWER_SECONDS = 10
_CONNECTIONS = 160
_PLAIN_URLS = ("http+docker://localhost", "http://")
_STARTING_AT_ONCE = 8  # more at once only makes each of them slower


def connect(seconds: float = _ANSWER_SECONDS) -> DockerClient:
    """Connect to the engine of DOCKER_HOST, else of docker's current context, with room for 64 sandboxes.

    Raises:
        SandboxError: no engine answers, or it cannot be reached in a way that serves.
    """
    where = os.environ.get("DOCKER_HOST") or "the socket of docker's current context"
    try:
        engine = docker.from_env(timeout=seconds, max_pool_size=_CONNECTIONS)
        engine.ping()
    except ENGINE_ERRORS as error:
        raise SandboxError(
            f"no docker engine answers at {where}: {_root_cause(error)}",
            mend="start it, set DOCKER_HOST, or choose --sandbox bubblewrap",
        ) from error
    if not str(engine.api.base_url).startswith(_PLAIN_URLS):
        # Neither TLS nor ssh can end what is sent and go on receiving, so a command's stdin would not end.
        engine.close()
        raise SandboxError(
            f"the docker engine at {where} is reached by TLS, ssh or a pipe",
            mend="name its unix socket in DOCKER_HOST, or choose --sandbox bubblewrap",
        )
    return engine


class DockerSandbox:
    """Starts containers of one image on one engine, on behalf of one owner.

    A context manager; `close` kills whatever is still running. Threads may share it.
    """

    name = "docker"
    capabilities = frozenset(Capability)
    python = PYTHON

    def __init__(self, engine: DockerClient, image: str, owner: Owner) -> None:
        self._api: APIClient = engine.api
        self._killer: APIClient = connect(_KILL_ANSWER_SECONDS).api
        self._image = image
        self._owner = owner
        options = _security_options(engine)
        # A rootless engine shows its caller as root inside, and nobody else.
        self._account = Account(0, 0) if "rootless" in options else Account.of_caller()
        self._userns = "host" if "userns" in options else None
        self._running: weakref.WeakSet[RunningDocker] = weakref.WeakSet()
        self._closed = False
        self._lock = threading.Lock()
        self._starting = threading.BoundedSemaphore(_STARTING_AT_ONCE)

    def locate(self, workspace: Path, mount: Mount) -> str:  # noqa: ARG002
        """Where a mount is seen inside: relative targets below /workspace."""
        return posixpath.normpath(posixpath.join(WORKSPACE, mount.target))

    def start(self, spec: SandboxSpec) -> RunningSandbox:
        check(spec)
        name = secrets.token_hex(8)
        points = MountPoints.make(spec.workspace, [*self._targets_in_workspace(spec)])
        try:
            lend(spec.workspace, self._account)
            with self._starting:
                running = self._start(spec, name, points)
        except BaseException as error:
            destroy(self._killer, name)
            take_back(spec.workspace, self._account)
            points.remove()
            if isinstance(error, ENGINE_ERRORS):
                raise _explained(error, spec) from error
            raise
        return running

    def close(self) -> None:
        """Stop every sandbox that still runs and start no more; all at once, so that many end in time."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            left = list(self._running)
        stoppers = [threading.Thread(target=running.stop) for running in left]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()
        self._remove_dead()
        self._killer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, spec: SandboxSpec, name: str, points: MountPoints) -> RunningDocker:
        container = self._api.create_container(
            self._image,
            entrypoint=[PYTHON, "-I", "-S", "-B", INIT],
            command=["--seconds", str(spec.limits.wall_seconds + _SELF_END_SECONDS)],
            name=name,
            hostname=_HOSTNAME,
            user=f"{self._account.uid}:{self._account.gid}",
            working_dir=WORKSPACE,
            labels=self._labels(spec),
            host_config=self._host_config(spec),
            use_config_proxy=False,
        )["Id"]
        self._api.start(container)
        state = self._api.inspect_container(container)
        self._check_read_only(spec, state)
        running = RunningDocker(
            api=self._api,
            killer=self._killer,
            container=container,
            spec=spec,
            account=self._account,
            points=points,
            env=ENVIRONMENT,
            pid=state["State"]["Pid"],
        )
        running.watch()
        with self._lock:
            self._running.add(running)
            closed = self._closed
        if closed:
            running.stop()
            raise SandboxError("the sandbox back end was closed")
        return running

    def _remove_dead(self) -> None:
        """Remove what the engine has not yet removed by itself; what fails here is left to the reaper."""
        mine = {"label": [f"{OWNER_LABEL}={self._owner.path.name}"]}
        with suppress(*ENGINE_ERRORS):
            for container in self._killer.containers(all=True, filters=mine):
                destroy(self._killer, container["Id"])

    def _host_config(self, spec: SandboxSpec) -> dict[str, Any]:
        limits, account = spec.limits, self._account
        scratch = f"rw,exec,nosuid,nodev,size={limits.tmpfs_bytes}"
        workspace = EngineMount(WORKSPACE, os.fspath(spec.workspace), type="bind")
        mounts = [
            EngineMount(
                self.locate(spec.workspace, mount), os.fspath(mount.source), type="bind", read_only=True
            )
            for mount in spec.mounts
        ]
        config: dict[str, Any] = self._api.create_host_config(
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            network_mode="none",
            dns=["127.0.0.1"],  # else the engine copies this host's resolv.conf
            dns_search=["."],
            userns_mode=self._userns,
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,
            nano_cpus=int(limits.cpus * 1e9),
            pids_limit=limits.pids,
            shm_size=min(_SHM_BYTES, limits.tmpfs_bytes),
            ulimits=[
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=limits.file_bytes, hard=limits.file_bytes),
            ],
            tmpfs={
                "/tmp": f"{scratch},mode=1777",
                HOME: f"{scratch},mode=0700,uid={account.uid},gid={account.gid}",
            },
            mounts=[workspace, *mounts],
            log_config=LogConfig(type="none"),
            auto_remove=True,
        )
        return config

    def _labels(self, spec: SandboxSpec) -> dict[str, str]:
        return {**self._owner.labels, **{f"{LABEL}.{name}": value for name, value in spec.labels.items()}}

    def _targets_in_workspace(self, spec: SandboxSpec) -> list[PurePosixPath]:
        inside = [PurePosixPath(self.locate(spec.workspace, mount)) for mount in spec.mounts]
        return [path.relative_to(WORKSPACE) for path in inside if path.is_relative_to(WORKSPACE)]

    def _check_read_only(self, spec: SandboxSpec, state: Mapping[str, Any]) -> None:
        writable = {mount["Destination"]: mount["RW"] for mount in state["Mounts"]}
        for mount in spec.mounts:
            if writable.get(self.locate(spec.workspace, mount), True):
                raise SandboxError(f"the docker engine did not mount {mount.target} read-only")


def check(spec: SandboxSpec) -> None:
    """Refuse a spec that the engine would misread or that would hide one mount behind another."""
    for path in (spec.workspace, *(mount.source for mount in spec.mounts)):
        if not path.is_absolute() or not path.exists():
            raise SandboxError(f"cannot mount {path}: not an absolute path of something that exists")
    targets = [posixpath.normpath(posixpath.join(WORKSPACE, mount.target)) for mount in spec.mounts]
    for target, mount in zip(targets, spec.mounts, strict=True):
        if (
            ".." in PurePosixPath(mount.target).parts
            or target in ("/", WORKSPACE)
            or targets.count(target) > 1
        ):
            raise SandboxError(f"cannot mount {mount.source} at {mount.target!r}")


def _root_cause(error: BaseException) -> str:
    """The system's own words ("Connection refused") where there are any, out of the layers around them."""
    innermost = error
    while inner := innermost.__cause__ or innermost.__context__:
        innermost = inner
    return getattr(innermost, "strerror", None) or str(error)


def _security_options(engine: DockerClient) -> set[str]:
    try:
        options = engine.info().get("SecurityOptions") or []
    except ENGINE_ERRORS as error:
        raise SandboxError(f"the docker engine does not answer: {error}") from error
    return {part.removeprefix("name=") for option in options for part in option.split(",")}


def _explained(error: DockerException | OSError, spec: SandboxSpec) -> SandboxError:
    said = str(getattr(error, "explanation", None) or error)
    if "bind source path does not exist" in said:
        return SandboxError(
            f"the docker engine does not see {spec.workspace} or a mount of it: {said}",
            mend="it runs on another file system; use a local engine or --sandbox bubblewrap",
        )
    if isinstance(error, NotFound) and "image" in said.lower():
        return SandboxError(f"the sandbox image is gone: {said}", mend="start again; it is then built anew")
    return SandboxError(f"the docker engine cannot start a sandbox: {said}")
