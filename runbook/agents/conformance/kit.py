"""Runs cases: one attempt each through the controller against the scripted model, and judges what it left."""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from manifests.views import View
from runbook.agents.conformance.cases import Case
from runbook.agents.conformance.checks import ALWAYS, NotKnown
from runbook.agents.conformance.haystack import question
from runbook.agents.conformance.observing import Observed, observe, processes_with
from runbook.attempt import Arm, Attempt, next_attempt_number
from runbook.evidence import KnownTrajectories
from runbook.memory import QueryTask
from runbook.question import Question
from sandbox.snapshot import Snapshot

Verdict = Literal["pass", "fail", "n/a"]
PATIENCE = (2, 4)
GRACE_SECONDS = 30.0  # long, so that an agent can end by itself
SETTLING_SECONDS = 20.0  # in which the engine may remove what has ended; on a busy machine it takes its time


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what an attempt is made."""

    base_url: str
    """Of the scripted model, with the mode, without /v1."""
    wall_seconds: float
    idle_seconds: float
    calls: int
    """Budget of model calls."""
    retry_seconds: float
    """How long the gateway tries again."""
    grace_seconds: float
    """How long valid evidence lies there before an attempt is ended."""


class Bench(Protocol):
    """An agent in a sandbox, ready for attempts."""

    @property
    def agent(self) -> str: ...

    @property
    def prompt_in_argument(self) -> bool:
        """Whether the prompt is an argument, of which none may be longer than 128 KiB."""
        ...

    def arm(self, terms: Terms) -> AbstractContextManager[Arm]:
        """What attempts with this agent under these terms are made with."""
        ...

    def containers(self, question: str) -> list[str]:
        """Containers that carry the label of a question."""
        ...


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A cell of the table."""

    agent: str
    case: str
    verdict: Verdict
    outcome: str = ""
    reason: str = ""
    """What is wrong, or why the case does not apply; with a pass the outcome's own detail."""
    not_known: str = ""
    """What could not be checked, and why."""
    seconds: float = 0.0
    calls: int = 0
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Kit:
    """What all cases share."""

    server: str
    """URL of the scripted model."""
    haystack: View
    folder: Path
    """Receives `<agent>/<case>/<attempt>/`."""
    idle_seconds: float = 30.0
    """The idle limit of the case that is about it."""
    deadline_seconds: float = 40.0
    """The deadline of those cases that are about it: time to start, and to run a command."""
    patience_seconds: float = 180.0
    """The deadline of all others."""
    cancel: threading.Event = field(default_factory=threading.Event)

    def run(
        self, benches: Iterable[Bench], cases: Iterable[Case], *, parallel: int = 2
    ) -> Iterator[CaseResult]:
        """Results as they come in.

        The first exception of a case (a sandbox that cannot be started) ends the run.
        """
        chosen = tuple(cases)
        with ThreadPoolExecutor(parallel) as pool:
            running = [pool.submit(self.one, bench, case) for bench in benches for case in chosen]
            try:
                for done in as_completed(running):
                    yield done.result()
            finally:
                self.cancel.set()
                for future in running:
                    future.cancel()

    def one(self, bench: Bench, case: Case) -> CaseResult:
        """Run one case."""
        if why := _not_applicable(bench, case):
            return CaseResult(bench.agent, case.name, "n/a", reason=why)
        begun = time.monotonic()
        seen = self._attempt(bench, case, 1)
        for patience in PATIENCE:
            if had_time(case, seen) or self.cancel.is_set():
                break
            seen = self._attempt(bench, case, patience)
        wrong, not_known = _judged(case, seen)
        return CaseResult(
            agent=bench.agent,
            case=case.name,
            verdict="fail" if wrong else "pass",
            outcome=seen.record.outcome.value,
            reason="; ".join(wrong) or seen.record.detail,
            not_known="; ".join(not_known),
            seconds=time.monotonic() - begun,
            calls=len(seen.calls),
            folder=str(seen.folder),
        )

    def _attempt(self, bench: Bench, case: Case, patience: float) -> Observed:
        """Make an attempt, with the short limits of a case multiplied by `patience`."""
        token = str(secrets.randbelow(10**9) + 10**9)
        terms = self._terms(case, token, patience)
        before = Snapshot.take(self.haystack.path)
        task = QueryTask(
            question=Question(text=question(case.question_bytes)),
            haystack=self.haystack,
            folder=self.folder / bench.agent / case.name,
            cancel=self.cancel,
            labels={"run": "conformance", "question": token},
        )
        entries = self.haystack.entries.values()
        known = KnownTrajectories((entry.id, entry.slug, entry.states) for entry in entries)
        number = next_attempt_number(task.folder)
        with bench.arm(terms) as arm:
            attempt = Attempt(number, task, arm, known, None)
            record, _ = attempt.run()
            attempt.archive(record)
        alive = _settled(lambda: [*processes_with(f"300.{token}"), *bench.containers(token)])
        return observe(
            record,
            task.folder / str(number),
            wall_seconds=terms.wall_seconds,
            alive=alive,
            haystack_whole=not Snapshot.take(self.haystack.path).differences(before),
            stream=arm.agent.stream,
        )

    def _terms(self, case: Case, token: str, patience: float) -> Terms:
        return Terms(
            base_url=f"{self.server}/m/{case.mode}-{token}",
            wall_seconds=self.deadline_seconds * patience if case.short_deadline else self.patience_seconds,
            idle_seconds=self.idle_seconds * patience if case.short_idle else self.patience_seconds,
            calls=case.calls,
            retry_seconds=case.retry_seconds,
            grace_seconds=GRACE_SECONDS,
        )


def had_time(case: Case, seen: Observed) -> bool:
    """Whether a short limit left the agent time for what the case is about.

    On a busy machine it may not have come to its model before the limit ended it, or to its command.
    """
    if not (case.short_idle or case.short_deadline):
        return True
    return bool(seen.calls) and not any(check(seen) for check in case.checks)


def _not_applicable(bench: Bench, case: Case) -> str:
    if case.question_bytes and bench.prompt_in_argument:
        return (
            "takes its prompt as an argument, which holds at most 128 KiB; an adapter with {prompt_file}, or "
            "with neither, has no such limit"
        )
    return ""


def _judged(case: Case, seen: Observed) -> tuple[list[str], list[str]]:
    """Everything that is wrong, the outcome first; and what cannot be told."""
    found = [check(seen) for check in (*ALWAYS, *case.checks)]
    wrong = [one for one in found if isinstance(one, str) and one]
    if seen.record.outcome not in case.expected:
        expected = " or ".join(sorted(case.expected))
        wrong.insert(0, f"{seen.record.outcome} ({seen.record.detail}) where {expected} was expected")
    return wrong, [one.why for one in found if isinstance(one, NotKnown)]


def _settled(alive: Callable[[], list[str]]) -> list[str]:
    """What is alive once the last had its time to end."""
    end = time.monotonic() + SETTLING_SECONDS
    while (found := alive()) and time.monotonic() < end:
        time.sleep(0.1)
    return found
