"""A sandbox whose processes are children of our init: commands go to it through a socket.

One keeper thread per sandbox launches init, hears from it, holds the deadlines and destroys everything at the
end, whatever ended it. Two back ends differ only in their `Cage`: where init runs and how everything dies.
"""

import fcntl
import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from sandbox.cage import Cage
from sandbox.disk_watch import DiskWatch
from sandbox.output import PipeExecution
from sandbox.protocol import Collected, Ending, SandboxError, SandboxSpec
from sandbox.workspace import lend, take_back

# Init ends by itself this long after the deadline, should we not be there to hold it.
BACKSTOP_SECONDS = 3.0
READY_SECONDS = 120.0  # a machine that starts many at once is slow, not broken
MORE_FILES = "allow more open files and processes (ulimit -n, ulimit -u), or run fewer at once"
# Understood by every Python that init may run on.
MARSHAL_VERSION = 2
OOM_EXIT = 128 + signal.SIGKILL


class SupervisedSandbox:
    """A `RunningSandbox` with an init of ours inside."""

    def __init__(self, spec: SandboxSpec, cage: Cage) -> None:
        """Start it.

        Raises:
            SandboxError: it did not start; nothing is left behind.
        """
        limits = spec.limits
        self._spec = spec
        self._cage = cage
        self._deadline = time.monotonic() + limits.wall_seconds
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._asked: Ending | None = None
        self._ending: Ending | None = None
        self._runs: dict[int, PipeExecution] = {}
        self._timeouts: dict[int, float] = {}
        self._next_run = 1
        self._killed_for_memory = False
        self._disk_limit = ""
        self._collected: Collected | None = None
        self._watch = DiskWatch(
            spec.workspace, limits.workspace_bytes, limits.workspace_files, self._end_for_disk, cage.pids
        )
        self._ready = threading.Event()
        self._gone = threading.Event()
        self._failure: SandboxError | None = None
        try:
            self._ours, self._theirs = socket.socketpair()
            self._wake_reader, self._wake_writer = socket.socketpair()
            self._wake_writer.setblocking(False)
            threading.Thread(target=self._keep, name="sandbox-keeper", daemon=True).start()
        except (OSError, RuntimeError) as error:
            self._failure = SandboxError(f"cannot start a sandbox: {error}", mend=MORE_FILES)
        else:
            self._ready.wait()
        if self._failure is not None:
            cage.report()
            self._take_back()
            raise self._failure

    @property
    def workdir(self) -> str:
        return self._cage.workdir

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> PipeExecution:
        """Start a command; in a sandbox that has ended, an execution that has ended likewise."""
        with ExitStack() as opened:
            try:
                execution, theirs = self._open_execution(stdin, opened)
            except OSError as error:
                raise SandboxError(f"cannot start a command: {error}", mend=MORE_FILES) from error
            run = self._register(execution, timeout)
            if run is not None:
                command_env = {**self._cage.env, **self._spec.env, **(env or {})}
                request = {
                    "run": run,
                    "argv": [str(word) for word in argv],
                    "env": {str(name): str(value) for name, value in command_env.items()},
                    "cwd": self.workdir,
                }
                self._send(marshal.dumps(request, MARSHAL_VERSION), theirs)
        self._wake()
        return execution

    def _open_execution(self, stdin: bytes, opened: ExitStack) -> tuple[PipeExecution, list[int]]:
        """An execution and the descriptors of its command, which `opened` closes on our side."""
        theirs = [_open_stdin(stdin)]
        opened.callback(os.close, theirs[0])
        readers = []
        for _ in ("stdout", "stderr"):
            reader, writer = os.pipe()
            opened.callback(os.close, writer)
            theirs.append(writer)
            readers.append(os.fdopen(reader, "rb", buffering=0))
            if self._cage.account.uid != os.geteuid():
                # Else /dev/stdout could not be opened by its name. Stdin may be the host's own /dev/null.
                os.fchown(writer, self._cage.account.uid, self._cage.account.gid)
        return PipeExecution(readers[0], readers[1], self._spec.limits.output_bytes), theirs

    def _register(self, execution: PipeExecution, timeout: float | None) -> int | None:
        """Give the execution a number, or its end where the sandbox has ended."""
        with self._lock:
            if self._ending is not None:
                execution.finish(self._ending, None)
                return None
            run, self._next_run = self._next_run, self._next_run + 1
            self._runs[run] = execution
            if timeout is not None:
                self._timeouts[run] = time.monotonic() + timeout
            return run

    def stop(self) -> None:
        self._end(Ending.STOPPED)
        self._gone.wait()

    def collect(self) -> Collected:
        self.stop()
        with self._lock:
            if self._collected is None:
                self._collected = self._make_report()
            return self._collected

    def _make_report(self) -> Collected:
        known = self._cage.report()
        notes = (*known.notes, *self._take_back())
        return Collected(
            oom_kills=known.oom_kills,
            main_oom=known.oom_kills > 0 and self._killed_for_memory,
            memory_peak_bytes=known.memory_peak_bytes,
            disk_limit=self._disk_limit or self._watch.excess(),
            read_only_violations=known.read_only_violations,
            notes=notes,
        )

    def _take_back(self) -> tuple[str, ...]:
        """Make the workspace ours; a failure is a note, since the work in it may be good."""
        try:
            take_back(self._spec.workspace, self._cage.account)
        except SandboxError as error:
            return (str(error),)
        return ()

    def _send(self, request: bytes, descriptors: list[int]) -> None:
        """Send to init; should it be gone, the keeper ends the execution."""
        framed = len(request).to_bytes(4, "big") + request
        with self._sending, suppress(OSError):
            sent = socket.send_fds(self._ours, [framed], descriptors)
            self._ours.sendall(framed[sent:])

    def _end_for_disk(self, exceeded: str) -> None:
        self._disk_limit = exceeded
        self._end(Ending.DISK_LIMIT)

    def _end(self, ending: Ending) -> None:
        with self._lock:
            self._asked = self._asked or ending
        self._wake()

    def _wake(self) -> None:
        with suppress(OSError):
            self._wake_writer.send(b"\0")

    def _keep(self) -> None:
        """The keeper's whole life."""
        ending = Ending.LOST
        process: subprocess.Popen[bytes] | None = None
        try:
            with self._theirs:
                lend(self._spec.workspace, self._cage.account)
                process = self._cage.launch(
                    self._theirs.fileno(), self._spec.limits.wall_seconds + BACKSTOP_SECONDS
                )
            lines = _Lines(self._ours)
            self._await_ready(process, lines)
            self._watch.start()
            self._ready.set()
            ending = self._serve(lines)
        except (OSError, SandboxError) as error:
            self._failure = (
                error if isinstance(error, SandboxError) else SandboxError(f"cannot start init: {error}")
            )
        finally:
            self._close(process, ending)

    def _await_ready(self, process: subprocess.Popen[bytes], lines: "_Lines") -> None:
        self._ours.settimeout(READY_SECONDS)
        try:
            started = bool(lines.receive())
        except TimeoutError:
            raise SandboxError(f"init did not start within {READY_SECONDS:.0f} s") from None
        finally:
            self._ours.settimeout(None)
        if not started:
            assert process.stderr is not None
            said = process.stderr.read().decode("utf-8", "replace").strip()
            raise SandboxError(f"init did not start: {said or f'exit code {process.wait()}'}")

    def _serve(self, lines: "_Lines") -> Ending:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ours, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while True:
                with self._lock:
                    if self._asked is not None:
                        return self._asked
                    nearest = min([self._deadline, *self._timeouts.values()])
                left = nearest - time.monotonic()
                if left <= 0:
                    return Ending.DEADLINE
                for key, _ in selector.select(left):
                    if key.fileobj is self._wake_reader:
                        self._wake_reader.recv(4096)
                    elif not self._hear(lines.receive()):
                        # Init holds the deadline too, should we have been asleep.
                        return Ending.DEADLINE if time.monotonic() >= self._deadline else Ending.LOST

    def _hear(self, lines: list[str] | None) -> bool:
        """Take in what init said; False when it is gone."""
        for line in lines or []:
            run, code = map(int, line.removeprefix("exited ").split())
            with self._lock:
                execution = self._runs.pop(run, None)
                self._timeouts.pop(run, None)
            self._killed_for_memory = self._killed_for_memory or code == OOM_EXIT
            if execution is not None:
                execution.finish(Ending.EXITED, code)
        return lines is not None

    def _close(self, process: subprocess.Popen[bytes] | None, ending: Ending) -> None:
        if process is not None:
            self._cage.destroy(process)
            assert process.stderr is not None
            process.stderr.close()
        with self._lock:
            self._ending = ending
            for execution in self._runs.values():
                execution.finish(ending, None)
            self._runs.clear()
        with self._sending:
            self._ours.close()
        self._wake_reader.close()
        self._wake_writer.close()
        self._watch.stop()
        self._gone.set()
        self._ready.set()


class _Lines:
    """Whole lines from a stream socket."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._text = b""

    def receive(self) -> list[str] | None:
        """Wait for at least one line; None at the end of the stream."""
        while True:
            try:
                data = self._stream.recv(1 << 16)
            except ConnectionError:
                return None
            if not data:
                return None
            *lines, self._text = (self._text + data).split(b"\n")
            if lines:
                return [line.decode("ascii") for line in lines]


def _open_stdin(data: bytes) -> int:
    """A descriptor from which `data` and then the end can be read, without anyone feeding it."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if sys.platform != "linux":
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return os.open(file.name, os.O_RDONLY | os.O_CLOEXEC)
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(descriptor, "wb", closefd=False) as memory:
        memory.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return descriptor
