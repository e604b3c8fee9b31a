"""The stages of one question: query, reading, verdict. Each is written before the next one starts."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from evals.dataset import DataRoot
from evals.endpoint_errors import EndpointError
from evals.evidence_recall import EvidenceRecall, answer_in_context, evidence_recall, random_states
from evals.judge import Judge
from evals.question import EvalQuestion, Gold
from evals.reader import Reader
from evals.runs.folder import RunError, RunFolder
from evals.runs.records import InContext, QueryRecord, ReadingRecord, VerdictRecord, is_scoreless
from evals.scoring.evaluate import score
from manifests.store import Entry
from manifests.views import View
from runbook.evidence import Evidence, Span
from runbook.memory import Memory, QueryTask
from runbook.outcomes import METHOD_FAILURES, Outcome
from runbook.question import Question
from runbook.rendering import render_context


@dataclass(frozen=True, slots=True)
class Stages:
    """Everything the stages of a run need; one object serves all threads."""

    folder: RunFolder
    data: DataRoot
    memory: Memory
    open_view: Callable[[str], AbstractContextManager[View]]
    """The view of a question's haystack, index ready, pinned while open."""
    reader: Reader | None
    judge: Judge | None
    seed: int
    retry: frozenset[Outcome]
    """Outcomes that are done again although a record is there."""
    cancel: threading.Event

    def run(self, question: EvalQuestion) -> tuple[QueryRecord, ReadingRecord | None, VerdictRecord | None]:
        """Do what is missing or to be done again, in order; returns the current record of each stage."""
        query = self.folder.current(question.id, QueryRecord)
        if query is None or self._again(query.outcome):
            forced = query is not None and query.outcome in METHOD_FAILURES
            query = self.folder.append(self._query(question, forced=forced))
            if query.outcome is Outcome.HAYSTACK_MODIFIED:
                raise RunError(
                    "an agent changed the haystack, which other questions would read: the run stops here; "
                    "`runbook store verify --repair` removes what was changed, a resume imports it again; "
                    "docker and bubblewrap mount the haystack read-only"
                )
        if self.reader is None or is_scoreless(query.outcome):
            return query, None, None
        reading = self.folder.current(question.id, ReadingRecord)
        if reading is None or reading.query_k != query.k or self._again(reading.outcome):
            reading = self.folder.append(self._read(question, query, self.reader))
        if is_scoreless(reading.outcome):
            return query, reading, None
        verdict = self.folder.current(question.id, VerdictRecord)
        if verdict is None or verdict.reading_k != reading.k or self._again(verdict.outcome):
            judged = self._judge(question, reading)
            verdict = self.folder.append(judged) if judged else None
        return query, reading, verdict

    def _again(self, outcome: Outcome) -> bool:
        return outcome in self.retry and not self.cancel.is_set()

    def _query(self, question: EvalQuestion, *, forced: bool) -> QueryRecord:
        begun = time.monotonic()
        with self.open_view(question.id) as view:
            self.memory.insert(view)
            ready = time.monotonic() - begun
            result = self.memory.query(
                QueryTask(
                    question=Question(text=question.question, image=question.image),
                    haystack=view,
                    folder=self.folder.attempts_folder(question.id),
                    cancel=self.cancel,
                    labels={"run": str(self.folder.path.resolve()), "question": question.id},
                )
            )
            return QueryRecord(
                question_id=question.id,
                haystack_digest=view.digest,
                view_seconds=ready,
                result=result,
                forced=forced,
                evidence_recall=self._recall(question, result.evidence),
                answer_in_context=self._in_context(question, result.context.text, view),
            )

    def _recall(self, question: EvalQuestion, evidence: Evidence | None) -> EvidenceRecall | None:
        gold = self._gold(question)
        if gold is None:
            return None
        return evidence_recall(evidence.trajectory_spans if evidence else (), gold)

    def _gold(self, question: EvalQuestion) -> Gold | None:
        return self.data.gold.get(question.id) if self.data.gold else None

    def _in_context(self, question: EvalQuestion, text: str, view: View) -> InContext | None:
        """The indicator for the returned context, and for gold and random states beside it."""
        own = answer_in_context(question, text)
        if own is None:
            return None
        entries = {entry.id: entry for entry in view.entries.values()}
        gold = self._gold(question)
        gold_spans = None
        if gold is not None and gold.pieces:
            spans = [Span(**piece[0].model_dump()) for piece in gold.pieces]
            gold_spans = answer_in_context(question, _rendered(spans, entries))
        lengths = {entry.id: entry.states for entry in entries.values()}
        drawn = [
            Span(trajectory_id=trajectory, start_state_index=index, end_state_index=index)
            for trajectory, index in random_states(lengths, question_id=question.id, seed=self.seed)
        ]
        return InContext(
            context=own,
            gold_spans=gold_spans,
            random_states=answer_in_context(question, _rendered(drawn, entries)),
        )

    def _read(self, question: EvalQuestion, query: QueryRecord, reader: Reader) -> ReadingRecord:
        try:
            reading = reader.read(question, query.result.context)
        except EndpointError as error:
            return ReadingRecord(
                question_id=question.id, query_k=query.k, outcome=error.outcome, detail=str(error)
            )
        return ReadingRecord(question_id=question.id, query_k=query.k, outcome=Outcome.OK, reading=reading)

    def _judge(self, question: EvalQuestion, reading: ReadingRecord) -> VerdictRecord | None:
        assert reading.reading is not None
        response = reading.reading.response
        try:
            verdict = score(question, response)
            if verdict is None and self.judge is not None:
                verdict = self.judge.judge(question, response)
        except EndpointError as error:
            return VerdictRecord(
                question_id=question.id, reading_k=reading.k, outcome=error.outcome, detail=str(error)
            )
        if verdict is None:
            return None
        return VerdictRecord(
            question_id=question.id, reading_k=reading.k, outcome=Outcome.OK, verdict=verdict
        )


def _rendered(spans: Sequence[Span], entries: Mapping[str, Entry]) -> str:
    """The text a reader would see of these spans alone."""
    return render_context(Evidence(trajectory_spans=tuple(spans)), entries).text
