"""The stages of one question: query, reading, verdict. Each is written before the next one starts."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import TypeVar

from evals.dataset import DataRoot
from evals.evidence_recall import EvidenceRecall, evidence_recall
from evals.judge import Judge
from evals.question import EvalQuestion, Gold
from evals.reader import Reader
from evals.runs.at_work import HAYSTACK, QUERY, READING, VERDICT, AtWork
from evals.runs.config import RunRecord
from evals.runs.folder import RunError, RunFolder
from evals.runs.in_context import in_context
from evals.runs.machine_load import load_per_cpu
from evals.runs.records import QueryRecord, ReadingRecord, StageRecord, VerdictRecord, is_scoreless
from evals.runs.results import Chain, QuestionRecords, QuestionResult
from evals.runs.room import Room
from evals.runs.seeds import derived_seed
from evals.scoring.evaluate import score
from manifests.views import View
from runbook.endpoint.errors import EndpointError
from runbook.evidence import Evidence
from runbook.memory import Memory, QueryTask
from runbook.outcomes import METHOD_FAILURES, Outcome
from runbook.question import Question

R = TypeVar("R", bound=StageRecord)


@dataclass(frozen=True, slots=True)
class Stages:
    """Everything the stages of a run need; one object serves all threads."""

    folder: RunFolder
    run_record: RunRecord
    data: DataRoot
    memory: Memory | None
    """None where no question is asked any more: what is recorded is read or judged again."""
    open_view: Callable[[str], AbstractContextManager[View]]
    """The view of a question's haystack, index ready, pinned while open."""
    reader: Reader | None
    """None where nothing is read, or nothing is read any more."""
    judge: Judge | None
    retry: frozenset[Outcome]
    """Outcomes that are done again although a record is there."""
    cancel: threading.Event
    room: Room
    """Where a full disk is waited for."""
    at_work: AtWork = field(default_factory=AtWork)

    def run(self, question: EvalQuestion) -> QuestionResult:
        """Do what is missing or to be done again, in order, repeat by repeat; wait while the disk is full."""
        return self.room.keep(lambda: self._run(question), self.folder.path)

    def _run(self, question: EvalQuestion) -> QuestionResult:
        records = QuestionRecords(self.folder, self.run_record, question.id)
        counts = self.run_record.config.repeats
        done = []
        for agent in range(counts.agent):
            query = self._queried(question, records, agent)
            readings = []
            for reader in range(counts.reader):
                reading = self._has_read(question, records, query, reader)
                verdicts = (
                    self._judged(question, records, query, reading, judge) for judge in range(counts.judge)
                )
                readings.append(tuple(Chain(query, reading, verdict) for verdict in verdicts))
            done.append(tuple(readings))
        return QuestionResult(question.id, question.question_type, tuple(done))

    def ended(self, result: QuestionResult) -> Outcome | None:
        """How a question ended of what is done here, an infrastructure failure first; None where nothing is.

        A query's failure is none of a pass that reads or judges again: it cannot mend it.
        """
        outcomes = [one for chain in result.chains if (one := self._last_done(chain)) is not None]
        return next(filter(is_scoreless, outcomes), outcomes[0] if outcomes else None)

    def _last_done(self, chain: Chain) -> Outcome | None:
        query = chain.query if self.memory is not None else None
        reading = chain.reading if self.reader is not None else None
        last = chain.verdict or reading or query
        return None if last is None else last.outcome

    def _queried(self, question: EvalQuestion, records: QuestionRecords, repeat: int) -> QueryRecord | None:
        query = records.query(repeat)
        if self.memory is None or not self._wanted(query):
            return query
        forced = query is not None and (query.forced or query.outcome in METHOD_FAILURES)
        query = self._append(self._query(question, self.memory, repeat, forced=forced))
        if query.outcome is Outcome.HAYSTACK_MODIFIED:
            raise RunError(
                "an agent changed the haystack, which other questions would read: the run stops here; "
                "a resume builds the haystack anew, the store has its own files; "
                "docker and bubblewrap mount the haystack read-only"
            )
        return query

    def _has_read(
        self, question: EvalQuestion, records: QuestionRecords, query: QueryRecord | None, repeat: int
    ) -> ReadingRecord | None:
        if query is None or is_scoreless(query.outcome):
            return None
        reading = records.reading(query, repeat)
        if self.reader is None or not self._wanted(reading):
            return reading
        return self._append(self._read(question, query, self.reader, repeat))

    def _judged(
        self,
        question: EvalQuestion,
        records: QuestionRecords,
        query: QueryRecord | None,
        reading: ReadingRecord | None,
        repeat: int,
    ) -> VerdictRecord | None:
        if query is None or reading is None or is_scoreless(reading.outcome):
            return None
        verdict = records.verdict(reading, repeat)
        if not self._wanted(verdict):
            return verdict
        judged = self._judge(question, query, reading, repeat)
        return self._append(judged) if judged else None

    def _append(self, record: R) -> R:
        """Write a record. What it took is not spent again because the disk is full."""
        return self.room.keep(lambda: self.folder.append(record), self.folder.path)

    def _wanted(self, record: QueryRecord | ReadingRecord | VerdictRecord | None) -> bool:
        """Whether a stage is to be done: it never was, or ended in what is to be done again."""
        if self.cancel.is_set():
            return False
        return record is None or record.outcome in self.retry

    def _query(self, question: EvalQuestion, memory: Memory, repeat: int, *, forced: bool) -> QueryRecord:
        begun = time.monotonic()
        with ExitStack() as stack:
            with self.at_work.on(HAYSTACK):
                view = stack.enter_context(self.open_view(question.id))
                memory.insert(view)
            ready = time.monotonic() - begun
            load = load_per_cpu()
            task = QueryTask(
                question=Question(text=question.question, image=question.image),
                haystack=view,
                folder=self.folder.attempts_folder(question.id),
                cancel=self.cancel,
                labels={"run": str(self.folder.path.resolve()), "question": question.id},
                repeat=repeat,
                seed=self._seed(question, "query", repeat),
            )
            with self.at_work.on(QUERY):
                result = memory.query(task)
            load = max(load, load_per_cpu())
            gold = self._gold(question)
            return QueryRecord(
                question_id=question.id,
                repeat=repeat,
                haystack_digest=view.digest,
                view_seconds=ready,
                manifest_seconds=view.manifest_seconds,
                load_per_cpu=load,
                result=result,
                forced=forced,
                evidence_recall=_recall(result.evidence, gold),
                answer_in_context=in_context(
                    question, result.context.text, view, gold, seed=self.run_record.config.seed
                ),
            )

    def _gold(self, question: EvalQuestion) -> Gold | None:
        return self.data.gold.get(question.id) if self.data.gold else None

    def _seed(self, question: EvalQuestion, stage: str, *repeats: int) -> int | None:
        """None where the public harness is followed, which sends no seeds."""
        config = self.run_record.config
        if config.profile == "official":
            return None
        return derived_seed(config.seed, question.id, stage, *repeats)

    def _read(self, question: EvalQuestion, query: QueryRecord, reader: Reader, repeat: int) -> ReadingRecord:
        record = ReadingRecord(
            question_id=question.id,
            query_k=query.k,
            repeat=repeat,
            revision=self.run_record.revision,
            outcome=Outcome.OK,
        )
        seed = self._seed(question, "reading", query.repeat, repeat)
        try:
            with self.at_work.on(READING):
                reading = reader.read(question, query.result.context, seed=seed)
        except EndpointError as error:
            return record.model_copy(update={"outcome": error.outcome, "detail": str(error)})
        return record.model_copy(update={"reading": reading})

    def _judge(
        self, question: EvalQuestion, query: QueryRecord, reading: ReadingRecord, repeat: int
    ) -> VerdictRecord | None:
        assert reading.reading is not None
        response = reading.reading.response
        record = VerdictRecord(
            question_id=question.id,
            reading_k=reading.k,
            repeat=repeat,
            revision=self.run_record.revision,
            outcome=Outcome.OK,
        )
        try:
            verdict = score(question, response)
            if verdict is None and self.judge is not None:
                seed = self._seed(question, "verdict", query.repeat, reading.repeat, repeat)
                with self.at_work.on(VERDICT):
                    verdict = self.judge.asked(question, response, seed=seed, repeat=repeat)
        except EndpointError as error:
            return record.model_copy(update={"outcome": error.outcome, "detail": str(error)})
        return record.model_copy(update={"verdict": verdict}) if verdict else None


def _recall(evidence: Evidence | None, gold: Gold | None) -> EvidenceRecall | None:
    if gold is None:
        return None
    return evidence_recall(evidence.trajectory_spans if evidence else (), gold)
