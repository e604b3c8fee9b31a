"""Where an attempt takes place: in a sandbox, or outside with whoever picks the workspace up.

A venue runs one invocation in a prepared workspace until it ends, the deadline passes, or the watch
(`runbook.watching`) says that the attempt is over.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runbook.agents.protocol import Invocation
from runbook.gateway.line import Line
from runbook.launching import MODEL_FOLDER, SOCKET, launched
from runbook.traces.arrivals import ArrivalLog
from runbook.watching import AttemptWatch, StopReason, WatchOrder
from sandbox.protocol import (
    Collected,
    Ending,
    ExecResult,
    Limits,
    Mount,
    RunningSandbox,
    Sandbox,
    SandboxSpec,
)
from sandbox.snapshot import Snapshot

HAYSTACK = "haystack"
MOST_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What happened at the venue, before anyone looks at the evidence."""

    ending: Ending
    stopped_for: StopReason | None = None
    """Where we ended it."""
    exit_code: int | None = None
    collected: Collected = field(default_factory=Collected)
    timings: Mapping[str, float] = field(default_factory=dict)
    output_bytes: Mapping[str, int] = field(default_factory=dict)
    dropped_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """What a venue is asked to run, and for how long."""

    watch: WatchOrder
    haystack: Path
    invocation: Invocation
    limits: Limits
    output_folder: Path
    """Receives stdout and stderr as bytes, and when they arrived."""
    labels: dict[str, str]
    begun: float
    """The attempt's start on the monotonic clock, from which arrivals count."""

    @property
    def workspace(self) -> Path:
        return self.watch.workspace

    @property
    def line(self) -> Line | None:
        return self.watch.line


class Venue(Protocol):
    """A place to run attempts."""

    @property
    def name(self) -> str: ...

    @property
    def python(self) -> str: ...

    @property
    def links_haystack(self) -> bool:
        """True where the workspace must hold a link to the view, because nothing is mounted."""
        ...

    def workspace_inside(self, workspace: Path) -> str: ...

    def helpers_inside(self, workspace: Path) -> str: ...

    def run(self, order: Order) -> Facts:
        """Run to the end.

        Raises:
            SandboxError: the venue itself failed.
        """
        ...


class SandboxVenue:
    """Runs attempts in a sandbox back end."""

    links_haystack = False

    def __init__(self, sandbox: Sandbox, helpers: Mount | str) -> None:
        """`helpers` is where the image already has the helpers, or what to mount."""
        self._sandbox = sandbox
        self._helpers = helpers

    @property
    def name(self) -> str:
        return self._sandbox.name

    @property
    def python(self) -> str:
        return self._sandbox.python

    def workspace_inside(self, workspace: Path) -> str:
        """The workspace as the agent sees it."""
        return self._sandbox.locate(workspace, Mount(workspace, "."))

    def helpers_inside(self, workspace: Path) -> str:
        """The helpers folder as the agent sees it."""
        if isinstance(self._helpers, str):
            return self._helpers
        return self._sandbox.locate(workspace, self._helpers)

    def run(self, order: Order) -> Facts:
        """Start a sandbox, run the invocation, and give everything back."""
        mounts = [Mount(order.haystack, HAYSTACK), *order.invocation.mounts]
        if isinstance(self._helpers, Mount):
            mounts.append(self._helpers)
        if order.line is not None:
            mounts.append(Mount(order.line.directory, MODEL_FOLDER))
        spec = SandboxSpec(
            workspace=order.workspace, limits=order.limits, mounts=tuple(mounts), labels=order.labels
        )
        clock = time.monotonic
        begun = clock()
        running = self._sandbox.start(spec)
        started = clock()
        try:
            result, sizes, reason = self._execute(running, order)
            ended = clock()
        finally:
            collected = running.collect()
        return Facts(
            ending=result.ending,
            stopped_for=reason,
            exit_code=result.exit_code,
            collected=collected,
            timings={"start": started - begun, "agent": ended - started, "collect": clock() - ended},
            output_bytes=sizes,
            dropped_bytes=dict(result.dropped_bytes),
        )

    def _execute(
        self, running: RunningSandbox, order: Order
    ) -> tuple[ExecResult, dict[str, int], StopReason | None]:
        sizes = {"stdout": 0, "stderr": 0}
        command = launched(
            order.invocation,
            python=self.python,
            helpers=self.helpers_inside(order.workspace),
            socket=self._socket_inside(order),
        )
        with (
            (order.output_folder / "stdout").open("wb") as stdout,
            (order.output_folder / "stderr").open("wb") as stderr,
            ArrivalLog(order.output_folder / "stdout.times") as arrivals,
            AttemptWatch(order.watch, running.stop) as watch,
        ):
            files = {"stdout": stdout, "stderr": stderr}
            execution = running.exec(
                command.argv, stdin=command.stdin, timeout=order.limits.wall_seconds, env=command.env
            )
            for chunk in execution:
                files[chunk.stream].write(chunk.data)
                sizes[chunk.stream] += len(chunk.data)
                watch.note_output()
                if chunk.stream == "stdout":
                    arrivals.note(sizes["stdout"], chunk.at - order.begun)
            result = execution.result()
        return result, sizes, watch.reason

    def _socket_inside(self, order: Order) -> str | None:
        if order.line is None:
            return None
        return f"{self._sandbox.locate(order.workspace, Mount(order.line.directory, MODEL_FOLDER))}/{SOCKET}"


class ExternalVenue:
    """No sandbox: whoever is told of the workspace (a person, an IDE, a remote agent) writes the evidence."""

    name = "none"
    links_haystack = True

    def __init__(
        self, python: str, helpers: Path, announce: Callable[[Path, Mapping[str, str]], None]
    ) -> None:
        """`announce` is called with each workspace that is ready to be picked up, and its labels."""
        self.python = python
        self._helpers = helpers
        self._announce = announce

    def workspace_inside(self, workspace: Path) -> str:
        """The workspace itself: there is no inside."""
        return str(workspace)

    def helpers_inside(self, workspace: Path) -> str:  # noqa: ARG002 - the same for every workspace
        """The helpers folder on this host."""
        return str(self._helpers)

    def run(self, order: Order) -> Facts:
        """Announce the workspace and wait for evidence."""
        over = threading.Event()
        before = Snapshot.take(order.haystack)
        begun = time.monotonic()
        with AttemptWatch(order.watch, over.set) as watch:
            self._announce(order.workspace, order.labels)
            in_time = over.wait(order.limits.wall_seconds)
        seconds = time.monotonic() - begun
        changed = Snapshot.take(order.haystack).differences(before)
        return Facts(
            ending=Ending.STOPPED if in_time else Ending.DEADLINE,
            stopped_for=watch.reason,
            collected=Collected(read_only_violations=tuple(changed[:MOST_CHANGES])),
            timings={"agent": seconds},
        )
