"""One running container: commands in it, its deadlines, its end, and what is known afterwards."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from docker import APIClient
from docker.errors import APIError, NotFound
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from sandbox.accounts import Account
from sandbox.container_host import HostView, MemoryUse
from sandbox.disk_watch import DiskWatch
from sandbox.docker_exec import ENGINE_ERRORS, DockerExecution
from sandbox.protocol import Chunk, Collected, Ending, ExecResult, Execution, SandboxError, SandboxSpec
from sandbox.workspace import MountPoints, take_back

WORKSPACE = "/workspace"

_DIRECT_KILL_SECONDS = 5.0
_KILL_SECONDS = 20.0
_AFTERMATH_SECONDS = 1.0
_CONFLICT = 409
_CANNOT_RUN_EXIT = 126
_ARGUMENT_BYTES = 128 * 1024  # what Linux takes as one argument
_ARGUMENTS_BYTES = 2000 * 1024  # what it takes in all, less a little for our own
_KILLED_EXIT = 137
# The kernel takes a command before it takes init. The environment is what is given, nothing of the image or
# the engine.
_LAUNCH = 'echo 300 2>/dev/null >/proc/self/oom_score_adj; exec env -i "$@"'


class EndedExecution:
    """The execution of a command that was never started: its sandbox had ended, or nobody could run it."""

    def __init__(self, ending: Ending, exit_code: int | None = None, stderr: str = "") -> None:
        self._result = ExecResult(ending, exit_code, 0.0, {"stdout": 0, "stderr": 0})
        data = stderr.encode("utf-8", "backslashreplace")
        self._chunks = [Chunk("stderr", data, time.monotonic())] if data else []

    def __iter__(self) -> Iterator[Chunk]:
        chunks, self._chunks = self._chunks, []
        return iter(chunks)

    def result(self) -> ExecResult:
        return self._result


class RunningDocker:
    """A started container. Made by `DockerSandbox.start`; see `sandbox.protocol.RunningSandbox`.

    `killer` is a connection to the same engine whose calls end within seconds.
    """

    workdir = WORKSPACE

    def __init__(
        self,
        *,
        api: APIClient,
        killer: APIClient,
        container: str,
        spec: SandboxSpec,
        account: Account,
        points: MountPoints,
        env: Mapping[str, str],
        pid: int,
    ) -> None:
        self._api = api
        self._killer = killer
        self._container = container
        self._spec = spec
        self._account = account
        self._points = points
        self._env = {**env, **spec.env}
        self._host = HostView.open(pid, container)
        self._lock = threading.RLock()
        self._ending: Ending | None = None
        self._over_since: float | None = None
        self._killing = threading.Lock()
        self._timers: dict[DockerExecution, threading.Timer] = {}
        self._memory = MemoryUse(0, None)
        self._main_oom = False
        self._notes: list[str] = []
        self._disk_limit = ""
        self._collected: Collected | None = None
        limits = spec.limits
        self._wall = _timer(limits.wall_seconds, self._deadline)
        self._disk = DiskWatch(
            spec.workspace,
            limits.workspace_bytes,
            limits.workspace_files,
            self._disk_exceeded,
            self._host.pids if self._host else tuple,
        )

    def watch(self) -> None:
        """Start to enforce the wall clock and the disk limits."""
        self._wall.start()
        self._disk.start()

    @property
    def ending(self) -> Ending | None:
        return self._ending

    @property
    def over_since(self) -> float | None:
        return self._over_since

    def survives(self) -> bool:
        """Whether the container outlives a command that ended just now.

        The engine may report the end of a command before the end of the container that took it along.
        """
        if self._host is not None:
            return not self._host.is_ending()
        time.sleep(_AFTERMATH_SECONDS)
        return self._is_running()

    def _is_running(self) -> bool:
        try:
            return bool(self._killer.inspect_container(self._container)["State"]["Running"])
        except ENGINE_ERRORS:
            return False

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Execution:
        if not argv:
            raise ValueError("no command")
        assignments = [f"{name}={value}" for name, value in {**self._env, **(env or {})}.items()]
        if self._ending is not None:
            return EndedExecution(self._ending)
        if why := _unfit([*assignments, *argv]):
            return EndedExecution(Ending.EXITED, _CANNOT_RUN_EXIT, f"cannot run {argv[0][:80]!r}: {why}\n")
        timer = _timer(timeout, self._deadline) if timeout is not None else None
        if timer:
            timer.start()
        try:
            execution = self._execution(["/bin/sh", "-c", _LAUNCH, "sh", *assignments, *argv], stdin)
        except ENGINE_ERRORS as error:
            if timer:
                timer.cancel()
            return self._not_executed(error)
        with self._lock:
            if timer:
                self._timers[execution] = timer
        return execution

    def stop(self) -> None:
        self._end(Ending.STOPPED)
        self._disk.stop()
        self._wall.cancel()

    def collect(self) -> Collected:
        self.stop()
        with self._lock:
            if self._collected is None:
                self._collected = self._take_back()
                if self._host is not None:
                    self._host.close()
            return self._collected

    def finished(self, execution: DockerExecution, exit_code: int | None) -> None:
        """Called by an execution at its end."""
        with self._lock:
            if timer := self._timers.pop(execution, None):
                timer.cancel()
            if exit_code is None:
                self._ending = self._ending or Ending.LOST
            if exit_code == _KILLED_EXIT:
                self._read_memory()
                self._main_oom |= self._memory.oom_kills > 0

    def _execution(self, argv: list[str], stdin: bytes) -> DockerExecution:
        created = self._api.exec_create(
            self._container,
            argv,
            stdin=bool(stdin),
            user=f"{self._account.uid}:{self._account.gid}",
            workdir=WORKSPACE,
        )
        return DockerExecution(self, self._api, created["Id"], stdin, self._spec.limits.output_bytes)

    def _not_executed(self, error: Exception) -> Execution:
        """The container may have ended between the question and the answer; anything else is a failure."""
        if self._ending is None and self._is_running():
            raise SandboxError(f"the docker engine cannot execute a command: {error}") from error
        return EndedExecution(self._ending or Ending.LOST)

    def _deadline(self) -> None:
        self._end(Ending.DEADLINE)

    def _disk_exceeded(self, what: str) -> None:
        self._disk_limit = what
        self._end(Ending.DISK_LIMIT)

    def _end(self, ending: Ending) -> None:
        """Kill everything. The first reason counts; who comes later waits until it is done."""
        with self._lock:
            self._ending = self._ending or ending
        with self._killing:
            if self._over_since is not None:
                return
            self._read_memory()
            # A killed container is removed by the engine, in its own time.
            killed = self._host is not None and self._host.kill(_DIRECT_KILL_SECONDS)
            if not killed and not destroy(self._killer, self._container):
                self._notes.append("the engine did not confirm the end; the container ends by itself")
            self._over_since = time.monotonic()
        with self._lock:
            timers, self._timers = list(self._timers.values()), {}
        for timer in timers:
            timer.cancel()

    def _read_memory(self) -> None:
        """The counters go away with the container, so they are read while it is there."""
        if self._host is not None:
            self._memory = self._host.memory_use() or self._memory
            return
        try:
            state = self._killer.inspect_container(self._container)["State"]
        except ENGINE_ERRORS:
            return
        self._memory = MemoryUse(int(bool(state.get("OOMKilled"))), None)

    def _take_back(self) -> Collected:
        mended = take_back(self._spec.workspace, self._account)
        self._points.remove()
        if mended:
            self._notes.append(f"modes of {mended} files and folders in the workspace were changed")
        return Collected(
            oom_kills=self._memory.oom_kills,
            main_oom=self._main_oom,
            memory_peak_bytes=self._memory.peak_bytes,
            disk_limit=self._disk_limit or self._disk.excess(),
            notes=tuple(self._notes),
        )


def _unfit(arguments: Sequence[str]) -> str:
    """Why the kernel would refuse a command line, which the engine reports as the command's own output."""
    sizes = [len(argument.encode("utf-8", "surrogateescape")) + 1 for argument in arguments]
    if any("\0" in argument for argument in arguments):
        return "a NUL character in an argument"
    if max(sizes) > _ARGUMENT_BYTES or sum(sizes) + 8 * len(sizes) > _ARGUMENTS_BYTES:
        return "argument list too long"
    return ""


def destroy(api: APIClient, container: str) -> bool:
    """Kill and remove a container by name or id, whatever its state; False if the engine would not."""
    try:
        for attempt in Retrying(
            retry=retry_if_exception_type(ENGINE_ERRORS),
            stop=stop_after_delay(_KILL_SECONDS),
            wait=wait_fixed(0.2),
        ):
            with attempt:
                _remove(api, container)
    except RetryError:
        return False
    return True


def _remove(api: APIClient, container: str) -> None:
    try:
        api.remove_container(container, v=True, force=True)
    except NotFound:
        return
    except APIError as error:
        # Containers remove themselves when they end, so a second removal may find the first at work.
        if error.status_code != _CONFLICT or "already in progress" not in str(error.explanation):
            raise


def _timer(seconds: float, action: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    return timer
