"""The controller: one question, up to N attempts in isolated places, one memory context.

Follow a question by reading `AgentMemory.query`, then `runbook.attempt`, `runbook.workspace`,
`runbook.venue`, `runbook.evidence` and `runbook.rendering`.
"""

import time

from manifests.views import View
from runbook.attempt import Arm, Attempt, next_attempt_number
from runbook.evidence import Evidence, KnownTrajectories
from runbook.memory import AttemptRecord, QueryResult, QueryTask
from runbook.outcomes import RETRIED, Outcome
from runbook.rendering import render_context

RATE_LIMIT_PAUSE = 15.0  # seconds between attempts, after the gateway itself had waited in vain
RATE_LIMIT_PATIENCE = 900.0  # seconds of a question after which a rate limit is its outcome


class AgentMemory:
    """A coding agent as the memory: it searches the haystack's files and hands in evidence."""

    def __init__(self, arm: Arm, *, attempts: int = 3) -> None:
        """`attempts` is how often an attempt that ended in a retried outcome may be made in all."""
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        self._arm = arm
        self._attempts = attempts

    @property
    def name(self) -> str:
        """The agent's name: it is the memory."""
        return self._arm.agent.name

    def insert(self, haystack: View) -> None:
        """Nothing to do: the view on disk is all an agent needs."""

    def query(self, task: QueryTask) -> QueryResult:
        """Make attempts until one ends well or none is left, and render the context.

        The clock stops when the context is there; keeping the last workspace is not on it.
        """
        begun = time.monotonic()
        entries = task.haystack.entries.values()
        known = KnownTrajectories((entry.id, entry.slug, entry.states) for entry in entries)
        candidates = self._candidates(task)
        timings = {"candidates": time.monotonic() - begun}
        records: list[AttemptRecord] = []
        left = self._attempts
        number = next_attempt_number(task.folder)
        while True:
            attempt = Attempt(number, task, self._arm, known, candidates)
            record, evidence = attempt.run()
            records.append(record)
            if record.outcome is Outcome.HAYSTACK_MODIFIED:
                task.haystack.distrust()
            waits = self._waits_for(record, time.monotonic() - begun)
            left -= not waits
            again = waits or (left > 0 and record.outcome in RETRIED)
            if not again or task.cancel.is_set():
                result = self._result(task, records, evidence, begun, timings)
                attempt.archive(record)
                return result
            attempt.archive(record)
            if waits:
                pausing = time.monotonic()
                task.cancel.wait(RATE_LIMIT_PAUSE)
                timings["rate_limit"] = timings.get("rate_limit", 0.0) + time.monotonic() - pausing
            number += 1

    def _waits_for(self, record: AttemptRecord, seconds: float) -> bool:
        """True where a provider wants us to wait, which costs time but no attempt."""
        return record.outcome is Outcome.RATE_LIMITED and seconds < RATE_LIMIT_PATIENCE

    def _candidates(self, task: QueryTask) -> str | None:
        if self._arm.candidates is None or not self._arm.agent.reads_prompt:
            return None
        return self._arm.candidates.find(task.question, task.haystack.path)

    def _result(
        self,
        task: QueryTask,
        records: list[AttemptRecord],
        evidence: Evidence | None,
        begun: float,
        timings: dict[str, float],
    ) -> QueryResult:
        rendering = time.monotonic()
        usable = evidence if evidence is not None else Evidence()
        by_id = {entry.id: entry for entry in task.haystack.entries.values()}
        context = render_context(usable, by_id)
        now = time.monotonic()
        timings = {**timings, "render": now - rendering}
        for record in records:
            for phase, seconds in record.timings.items():
                timings[phase] = timings.get(phase, 0.0) + seconds
        outcome = records[-1].outcome
        if outcome is Outcome.OK and evidence is None:
            raise AssertionError("an attempt that ended well has evidence")
        return QueryResult(
            outcome=outcome,
            seconds=now - begun,
            timings=timings,
            attempts=list(records),
            evidence=evidence,
            context=context,
        )
