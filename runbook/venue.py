"""Where an attempt takes place: in a sandbox, or outside with whoever picks the workspace up.

A venue runs one invocation in a prepared workspace until it ends, evidence was submitted, evidence lies
there unchanged for the grace period, the deadline passes or the question is cancelled.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runbook.agents.protocol import Invocation
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

OUTPUT_FILE = "memory_module_output.json"
SUBMITTED_FILE = ".submitted"
HAYSTACK = "haystack"
POLL_SECONDS = 0.05
MOST_CHANGES = 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What happened at the venue, before anyone looks at the evidence."""

    ending: Ending
    stopped_for: str = ""
    """submitted, grace or cancelled, where we ended it."""
    exit_code: int | None = None
    collected: Collected = field(default_factory=Collected)
    timings: Mapping[str, float] = field(default_factory=dict)
    output_bytes: Mapping[str, int] = field(default_factory=dict)
    dropped_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """What a venue is asked to run, and for how long."""

    workspace: Path
    haystack: Path
    invocation: Invocation
    limits: Limits
    grace_seconds: float
    output_folder: Path
    """Receives stdout and stderr as bytes."""
    labels: dict[str, str]
    cancel: threading.Event
    is_valid: Callable[[Path], bool]
    """Says whether an evidence file can be accepted; asked when it lay unchanged for the grace period."""


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


class EvidenceWatch:
    """Looks at the workspace every 50 ms and calls `end` once when the attempt is over.

    The workspace belongs to the agent, so nothing in it is trusted: not even the times of its files.
    """

    def __init__(self, order: Order, end: Callable[[], None]) -> None:
        self.reason = ""
        self._order = order
        self._end = end
        self._seen: tuple[int, int, int] | None = None
        self._unchanged_since = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="evidence-watch", daemon=True)

    def __enter__(self) -> "EvidenceWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.reason = self._reason()
            if self.reason:
                self._end()
                return

    def _reason(self) -> str:
        if self._order.cancel.is_set():
            return "cancelled"
        if _version(self._order.workspace / SUBMITTED_FILE) is not None:
            return "submitted"
        return "grace" if self._grace_passed() else ""

    def _grace_passed(self) -> bool:
        version = _version(self._order.workspace / OUTPUT_FILE)
        now = time.monotonic()
        if version is None or version != self._seen:
            self._seen, self._unchanged_since = version, now
            return False
        if now - self._unchanged_since < self._order.grace_seconds:
            return False
        self._unchanged_since = now  # an invalid file is not read again before another grace period
        return self._order.is_valid(self._order.workspace / OUTPUT_FILE)


def _version(path: Path) -> tuple[int, int, int] | None:
    """What tells versions of a file apart, without following links; None where there is no such name."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


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
        mounts = [Mount(order.haystack, HAYSTACK)]
        if isinstance(self._helpers, Mount):
            mounts.append(self._helpers)
        spec = SandboxSpec(
            workspace=order.workspace, limits=order.limits, mounts=tuple(mounts), labels=order.labels
        )
        clock = time.monotonic
        begun = clock()
        running = self._sandbox.start(spec)
        started = clock()
        try:
            result, sizes, reason = _execute(running, order)
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


def _execute(running: RunningSandbox, order: Order) -> tuple[ExecResult, dict[str, int], str]:
    sizes = {"stdout": 0, "stderr": 0}
    with (
        (order.output_folder / "stdout").open("wb") as stdout,
        (order.output_folder / "stderr").open("wb") as stderr,
        EvidenceWatch(order, running.stop) as watch,
    ):
        files = {"stdout": stdout, "stderr": stderr}
        execution = running.exec(
            order.invocation.argv,
            stdin=order.invocation.stdin,
            timeout=order.limits.wall_seconds,
            env=order.invocation.env,
        )
        for chunk in execution:
            files[chunk.stream].write(chunk.data)
            sizes[chunk.stream] += len(chunk.data)
        result = execution.result()
    return result, sizes, watch.reason


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
        with EvidenceWatch(order, over.set) as watch:
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
