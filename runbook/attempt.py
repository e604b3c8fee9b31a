"""One attempt: prepare a workspace, let an agent work in it, read its evidence, keep what happened.

`Attempt.run` ends when the evidence is validated, which is where the clock of a question may stop;
`Attempt.archive` then moves the workspace into the run folder and writes the records.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from instructions import InstructionOptions
from runbook.agents.protocol import Agent, Surroundings
from runbook.candidates import CandidateFinder
from runbook.complaints import of_any, of_system
from runbook.deciding import decide, flags
from runbook.evidence import (
    STATE_BUDGET,
    Evidence,
    InvalidEvidence,
    KnownTrajectories,
    ReadEvidence,
    read_evidence,
)
from runbook.files import write_atomically, write_json
from runbook.gateway.gateway import Gateway
from runbook.gateway.line import Line
from runbook.gateway.records import WireFacts
from runbook.gateway.settings import GatewayError, LineOrder
from runbook.history import WorkspaceHistory
from runbook.launching import base_url
from runbook.memory import AttemptRecord, QueryTask
from runbook.outcomes import Outcome
from runbook.traces import write_trace
from runbook.venue import Facts, Order, Venue
from runbook.watching import OUTPUT_FILE, WatchOrder
from runbook.workspace import QUESTION_IMAGE, Workspace, WorkspacePlan, create_workspace
from sandbox.protocol import MIB, Limits, SandboxError

_TOLD_BY_CALLS = (Outcome.INVALID_OUTPUT, Outcome.NO_TOOL_CALLS)
"""Failures that are the agent's own only where every call is on record: a missing one may have failed."""
SEED_VARIABLE = "RUNBOOK_SEED"
SEEDS = 2**31
FULL_BYTES = 4 * MIB  # with less room, nobody can tell whether the agent could have written its evidence


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """What is the same for every attempt of a run."""

    limits: Limits
    instruction: InstructionOptions
    helper_usage: str
    workspaces: Path
    """The folder in which workspaces are made."""
    grace_seconds: float = 10.0
    idle_seconds: float = 300.0
    """Without output and model traffic, after which an agent that uses a model counts as stalled."""
    budget: int = STATE_BUDGET


@dataclass(frozen=True, slots=True)
class Arm:
    """Who works where, under which settings."""

    agent: Agent
    venue: Venue
    settings: AttemptSettings
    candidates: CandidateFinder | None = None
    """None where agents get no candidates."""
    gateway: Gateway | None = None
    """None where the agent speaks to no model through it."""


class Attempt:
    """One attempt at one question."""

    def __init__(
        self, number: int, task: QueryTask, arm: Arm, known: KnownTrajectories, candidates: str | None
    ) -> None:
        self._number = number
        self._candidates = candidates
        self._task = task
        self._arm = arm
        self._known = known
        self._folder = task.folder / str(number)
        # A retry with the same seed might end as the attempt before it did.
        self._seed = None if task.seed is None else (task.seed + number - 1) % SEEDS
        self._workspace: Workspace | None = None
        self._history: WorkspaceHistory | None = None
        self._notes: tuple[str, ...] = ()
        self._record_fault = ""
        """Why the record of the model calls is incomplete."""
        self._begun = 0.0

    def run(self) -> tuple[AttemptRecord, Evidence | None]:
        """Prepare, run and read. Every failure is an outcome in the record, never an exception."""
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._begun = begun = time.monotonic()
        self._folder.mkdir(parents=True)
        try:
            workspace = self._prepare()
            prepared = time.monotonic()
            facts, wire = self._at_venue(workspace)
        except (SandboxError, GatewayError, OSError) as error:
            return self._failed(started_at, time.monotonic() - begun, error), None
        ended = time.monotonic()
        read = self._read(workspace)
        said = self._last_words()
        outcome, detail = decide(facts, read, wire, said)
        if outcome is Outcome.INVALID_OUTPUT and shutil.disk_usage(workspace.path).free < FULL_BYTES:
            outcome, detail = Outcome.SANDBOX_ERROR, f"the disk of {workspace.path.parent} is full"
        if outcome is Outcome.INVALID_OUTPUT and said:
            detail = f"{detail}: {said}"
        if self._record_fault and outcome in _TOLD_BY_CALLS:
            outcome, detail = Outcome.SANDBOX_ERROR, self._record_fault
        found = read if isinstance(read, ReadEvidence) else None
        record = AttemptRecord(
            number=self._number,
            outcome=outcome,
            detail=detail,
            flags=flags(facts, wire),
            agent=self._arm.agent.name,
            agent_version=self._arm.agent.version,
            sandbox=self._arm.venue.name,
            started_at=started_at,
            seconds=time.monotonic() - begun,
            timings={
                "workspace": prepared - begun,
                **facts.timings,
                **_wire_timings(wire),
                "validate": time.monotonic() - ended,
            },
            seed=self._seed,
            exit_code=facts.exit_code,
            repairs=read.repairs,
            unknown_ids=read.unknown_ids,
            extra=found.extra if found else {},
            evidence_sha256=found.sha256 if found else None,
            output_bytes=dict(facts.output_bytes),
            dropped_bytes=dict(facts.dropped_bytes),
            memory_peak_bytes=facts.collected.memory_peak_bytes,
            wire=wire,
            notes=[
                *self._notes,
                *self._record_notes(),
                *facts.collected.notes,
                *facts.collected.read_only_violations,
            ],
        )
        accepted = found is not None and outcome in (Outcome.OK, Outcome.EMPTY_VALID)
        return record, found.evidence if accepted and found else None

    def archive(self, record: AttemptRecord) -> None:
        """Keep the trace, the workspace, its history and the record. Off the clock; a loss is only a note."""
        notes = [*record.notes, *self._keep_trace(record)]
        if self._workspace is not None:
            try:
                if self._history is not None:
                    notes += self._history.snapshot("after").skipped
                    write_atomically(self._folder / "workspace.diff", self._history.diff().encode())
                notes += self._workspace.move_into(self._folder / "workspace")
            except OSError as error:
                notes.append(f"the workspace could not be kept whole: {of_any(error)}")
        write_json(self._folder / "attempt.json", record.model_copy(update={"notes": notes}))

    def _keep_trace(self, record: AttemptRecord) -> list[str]:
        agent = self._arm.agent
        if self._workspace is None:
            return []
        try:
            write_trace(
                self._folder,
                stream=agent.stream,
                agent=agent.name,
                started_at=record.started_at,
                version=agent.version,
                model=agent.model,
                prompt=self._workspace.prompt if agent.reads_prompt else "",
                model_free=agent.wire is None and agent.trusted,
            )
        except OSError as error:
            return [f"the trace could not be written: {of_system(error)}"]
        return []

    def _prepare(self) -> Workspace:
        venue, settings = self._arm.venue, self._arm.settings
        self._workspace = workspace = create_workspace(
            WorkspacePlan(
                question=self._task.question,
                instruction=settings.instruction,
                helper_usage=settings.helper_usage,
                python=venue.python,
                locate_workspace=venue.workspace_inside,
                locate_helpers=venue.helpers_inside,
                haystack=self._task.haystack.path if venue.links_haystack else None,
                parent=settings.workspaces,
                candidates=self._candidates,
            )
        )
        return workspace

    def _at_venue(self, workspace: Workspace) -> tuple[Facts, WireFacts | None]:
        self._history = WorkspaceHistory(self._folder / "history.git", workspace.path)
        self._history.snapshot("before")
        with self._open_line(workspace) as line:
            facts = self._arm.venue.run(self._order(workspace, line))
        return facts, line.facts() if line is not None else None

    def _order(self, workspace: Workspace, line: Line | None) -> Order:
        venue, settings = self._arm.venue, self._arm.settings
        inside = venue.workspace_inside(workspace.path)
        image = QUESTION_IMAGE if self._task.question.image else ""
        invocation = self._arm.agent.invocation(
            Surroundings(
                workspace=inside,
                python=venue.python,
                helpers=venue.helpers_inside(workspace.path),
                prompt=workspace.prompt,
                budget=settings.budget,
                base_url=base_url(line.prefix) if line is not None else "",
                image=f"{inside}/{image}" if image else "",
                seed=self._seed,
            )
        )
        if self._seed is not None:
            invocation = replace(invocation, env={SEED_VARIABLE: str(self._seed), **invocation.env})
        self._notes = invocation.notes
        return Order(
            watch=WatchOrder(
                workspace=workspace.path,
                cancel=self._task.cancel,
                grace_seconds=settings.grace_seconds,
                is_valid=self._is_valid,
                line=line,
                idle_seconds=settings.idle_seconds,
            ),
            haystack=self._task.haystack.path,
            invocation=invocation,
            limits=settings.limits,
            output_folder=self._folder,
            labels={**self._task.labels, "attempt": str(self._number)},
            begun=self._begun,
        )

    @contextmanager
    def _open_line(self, workspace: Workspace) -> Iterator[Line | None]:
        agent, gateway = self._arm.agent, self._arm.gateway
        if agent.wire is None or gateway is None:
            yield None
            return
        line = gateway.open_line(
            LineOrder(
                folder=self._folder,
                wire=agent.wire,
                model=agent.model,
                labels=self._task.labels,
                volatile=(workspace.path.name,),
            )
        )
        try:
            yield line
        finally:
            try:
                line.close()
            except GatewayError as error:
                self._record_fault = str(error)

    def _record_notes(self) -> list[str]:
        return [self._record_fault] if self._record_fault else []

    def _is_valid(self, path: Path) -> bool:
        try:
            read_evidence(path, self._known, budget=self._arm.settings.budget)
        except InvalidEvidence:
            return False
        return True

    def _read(self, workspace: Workspace) -> ReadEvidence | InvalidEvidence:
        try:
            return read_evidence(workspace.path / OUTPUT_FILE, self._known, budget=self._arm.settings.budget)
        except InvalidEvidence as refusal:
            return refusal

    def _last_words(self) -> str:
        """The end of what the agent said on stderr, in one printable line."""
        try:
            with (self._folder / "stderr").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                lines = file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        last = next((line for line in reversed(lines) if line.strip()), "")
        return "".join(mark if mark.isprintable() else " " for mark in last).strip()[:200]

    def _failed(self, started_at: str, seconds: float, error: Exception) -> AttemptRecord:
        return AttemptRecord(
            number=self._number,
            outcome=Outcome.CANCELLED if self._task.cancel.is_set() else Outcome.SANDBOX_ERROR,
            detail=of_any(error),
            agent=self._arm.agent.name,
            sandbox=self._arm.venue.name,
            started_at=started_at,
            seconds=seconds,
            seed=self._seed,
            notes=self._record_notes(),
        )


def _wire_timings(wire: WireFacts | None) -> dict[str, float]:
    """Parts of the agent's time that the wire can tell."""
    if wire is None:
        return {}
    return {"model": wire.model_seconds, "rate_limit": wire.rate_limit_seconds}


def next_attempt_number(folder: Path) -> int:
    """The first number under which no attempt was ever started in `folder`, counted from 1."""
    if not folder.is_dir():
        return 1
    taken = [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()]
    return max(taken, default=0) + 1
