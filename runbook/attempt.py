"""One attempt: prepare a workspace, let an agent work in it, read its evidence, keep what happened.

`Attempt.run` ends when the evidence is validated, which is where the clock of a question may stop;
`Attempt.archive` then moves the workspace into the run folder and writes the records.
"""

import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from instructions import InstructionOptions
from runbook.agents.protocol import Agent, Surroundings
from runbook.candidates import CandidateFinder
from runbook.evidence import (
    STATE_BUDGET,
    Evidence,
    InvalidEvidence,
    KnownTrajectories,
    ReadEvidence,
    Refusal,
    read_evidence,
)
from runbook.files import write_atomically, write_json
from runbook.history import WorkspaceHistory
from runbook.memory import AttemptRecord, QueryTask
from runbook.outcomes import Outcome
from runbook.venue import OUTPUT_FILE, Facts, Order, Venue
from runbook.workspace import Workspace, WorkspacePlan, create_workspace
from sandbox.protocol import MIB, Ending, Limits, SandboxError

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
    budget: int = STATE_BUDGET


@dataclass(frozen=True, slots=True)
class Arm:
    """Who works where, under which settings."""

    agent: Agent
    venue: Venue
    settings: AttemptSettings
    candidates: CandidateFinder | None = None
    """None where agents get no candidates."""


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
        self._workspace: Workspace | None = None
        self._history: WorkspaceHistory | None = None

    def run(self) -> tuple[AttemptRecord, Evidence | None]:
        """Prepare, run and read. Every failure is an outcome in the record, never an exception."""
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        begun = time.monotonic()
        self._folder.mkdir(parents=True)
        try:
            workspace = self._prepare()
            prepared = time.monotonic()
            facts = self._at_venue(workspace)
        except (SandboxError, OSError) as error:
            return self._failed(started_at, time.monotonic() - begun, error), None
        ended = time.monotonic()
        read = self._read(workspace)
        outcome, detail = decide(facts, read)
        if outcome is Outcome.INVALID_OUTPUT and shutil.disk_usage(workspace.path).free < FULL_BYTES:
            outcome, detail = Outcome.SANDBOX_ERROR, f"the disk of {workspace.path.parent} is full"
        if outcome is Outcome.INVALID_OUTPUT and (said := self._last_words()):
            detail = f"{detail}: {said}"
        found = read if isinstance(read, ReadEvidence) else None
        record = AttemptRecord(
            number=self._number,
            outcome=outcome,
            detail=detail,
            flags=_flags(facts),
            agent=self._arm.agent.name,
            sandbox=self._arm.venue.name,
            started_at=started_at,
            seconds=time.monotonic() - begun,
            timings={
                "workspace": prepared - begun,
                **facts.timings,
                "validate": time.monotonic() - ended,
            },
            exit_code=facts.exit_code,
            repairs=read.repairs,
            unknown_ids=read.unknown_ids,
            extra=found.extra if found else {},
            evidence_sha256=found.sha256 if found else None,
            output_bytes=dict(facts.output_bytes),
            dropped_bytes=dict(facts.dropped_bytes),
            memory_peak_bytes=facts.collected.memory_peak_bytes,
            notes=[*facts.collected.notes, *facts.collected.read_only_violations],
        )
        accepted = found is not None and outcome in (Outcome.OK, Outcome.EMPTY_VALID)
        return record, found.evidence if accepted and found else None

    def archive(self, record: AttemptRecord) -> None:
        """Keep the workspace, its history and the record. Off the clock; a loss here is only a note."""
        notes = list(record.notes)
        if self._workspace is not None:
            try:
                if self._history is not None:
                    notes += self._history.snapshot("after").skipped
                    write_atomically(self._folder / "workspace.diff", self._history.diff().encode())
                notes += self._workspace.move_into(self._folder / "workspace")
            except OSError as error:
                notes.append(f"the workspace could not be kept whole: {error}")
        write_json(self._folder / "attempt.json", record.model_copy(update={"notes": notes}))

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

    def _at_venue(self, workspace: Workspace) -> Facts:
        venue, settings = self._arm.venue, self._arm.settings
        surroundings = Surroundings(
            workspace=venue.workspace_inside(workspace.path),
            python=venue.python,
            helpers=venue.helpers_inside(workspace.path),
            prompt=workspace.prompt,
            budget=settings.budget,
        )
        self._history = WorkspaceHistory(self._folder / "history.git", workspace.path)
        self._history.snapshot("before")
        return venue.run(
            Order(
                workspace=workspace.path,
                haystack=self._task.haystack.path,
                invocation=self._arm.agent.invocation(surroundings),
                limits=settings.limits,
                grace_seconds=settings.grace_seconds,
                output_folder=self._folder,
                labels={**self._task.labels, "attempt": str(self._number)},
                cancel=self._task.cancel,
                is_valid=self._is_valid,
            )
        )

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
            detail=str(error),
            agent=self._arm.agent.name,
            sandbox=self._arm.venue.name,
            started_at=started_at,
            seconds=seconds,
        )


def decide(facts: Facts, read: ReadEvidence | InvalidEvidence) -> tuple[Outcome, str]:
    """The one outcome of an attempt and why, by the precedence of the README ("Outcomes")."""
    if facts.stopped_for == "cancelled":
        return Outcome.CANCELLED, "cancelled before the attempt ended"
    changed = facts.collected.read_only_violations
    if changed:
        return Outcome.HAYSTACK_MODIFIED, f"{len(changed)} haystack files changed, first {changed[0]}"
    if facts.ending is Ending.LOST:
        return Outcome.SANDBOX_ERROR, "the sandbox went away while the agent ran"
    if isinstance(read, ReadEvidence):
        return (Outcome.EMPTY_VALID if read.evidence.is_empty else Outcome.OK), ""
    if facts.ending is Ending.DISK_LIMIT:
        return Outcome.OUTPUT_LIMIT, facts.collected.disk_limit
    if facts.collected.main_oom:
        return Outcome.OOM, f"killed for memory, peak {facts.collected.memory_peak_bytes} bytes"
    if facts.ending is Ending.DEADLINE:
        return Outcome.TIMEOUT, "the deadline passed before evidence was there"
    if read.refusal is Refusal.MISSING:
        return Outcome.INVALID_OUTPUT, f"no evidence was written (exit code {facts.exit_code})"
    return Outcome.INVALID_OUTPUT, read.reason


def _flags(facts: Facts) -> list[str]:
    """What also happened, whatever the outcome."""
    flags = [facts.stopped_for] if facts.stopped_for else []
    if facts.ending is Ending.DEADLINE:
        flags.append("deadline")
    if facts.ending is Ending.DISK_LIMIT:
        flags.append("disk_limit")
    if facts.collected.main_oom:
        flags.append("oom")
    elif facts.collected.oom_kills:
        flags.append("oom_child")
    return flags


def next_attempt_number(folder: Path) -> int:
    """The first number under which no attempt was ever started in `folder`, counted from 1."""
    if not folder.is_dir():
        return 1
    taken = [int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()]
    return max(taken, default=0) + 1
