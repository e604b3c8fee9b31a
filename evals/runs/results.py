"""What is recorded of one question: for each repeat of a stage the current record, the highest of its kind.

The agent's repeats hold readings, readings hold verdicts. A record counts for the record it was made from
only, and a reading or verdict only for the revisions of the run that share its reader or judge.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from evals.runs.config import RunRecord
from evals.runs.folder import RunFolder
from evals.runs.records import QueryRecord, ReadingRecord, StageRecord, VerdictRecord, is_scoreless
from evals.statistics.variance import Repeats
from runbook.context import MemoryContext
from runbook.outcomes import Outcome

R = TypeVar("R", bound=StageRecord)


@dataclass(frozen=True, slots=True)
class Chain:
    """One way through the stages; what was not done, or not for this record of the stage before, is None."""

    query: QueryRecord | None
    reading: ReadingRecord | None
    verdict: VerdictRecord | None

    @property
    def outcome(self) -> Outcome | None:
        """The first stage that did not go well, else ok; None where nothing is recorded yet."""
        for record in (self.query, self.reading, self.verdict):
            if record is not None and record.outcome is not Outcome.OK:
                return record.outcome
        return None if self.query is None else Outcome.OK

    @property
    def last_outcome(self) -> Outcome | None:
        """Of the last stage that was done."""
        done = [one for one in (self.query, self.reading, self.verdict) if one is not None]
        return done[-1].outcome if done else None

    @property
    def score(self) -> int | None:
        if self.verdict is None or self.verdict.verdict is None:
            return None
        return self.verdict.verdict.score


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The chains of one question, nested by stage: agent's repeats > readings of each > verdicts on each.

    `query`, `reading`, `verdict` and `score` are those of the first chain: what is shown, never what counts.
    """

    question_id: str
    question_type: str
    repeats: tuple[tuple[tuple[Chain, ...], ...], ...]

    @property
    def chains(self) -> Iterator[Chain]:
        return (chain for readings in self.repeats for verdicts in readings for chain in verdicts)

    @property
    def query(self) -> QueryRecord | None:
        return self._first.query

    @property
    def reading(self) -> ReadingRecord | None:
        return self._first.reading

    @property
    def verdict(self) -> VerdictRecord | None:
        return self._first.verdict

    @property
    def score(self) -> int | None:
        return self._first.score

    @property
    def _first(self) -> Chain:
        return self.repeats[0][0][0]

    @property
    def queries(self) -> list[QueryRecord]:
        """What the memory answered, repeat by repeat."""
        return [one for readings in self.repeats if (one := readings[0][0].query) is not None]

    @property
    def answers(self) -> list[QueryRecord]:
        """Those of `queries` that count: an infrastructure failure is nobody's answer."""
        return [one for one in self.queries if not is_scoreless(one.outcome)]

    @property
    def seconds(self) -> float | None:
        """Official latency, the mean over `answers`; None where there are none."""
        return mean_over_answers(self, lambda query: query.result.seconds)

    @property
    def worst(self) -> Chain:
        """The first chain that ended in an infrastructure failure, else the first."""
        failed = (chain for chain in self.chains if chain.last_outcome and is_scoreless(chain.last_outcome))
        return next(failed, self._first)

    @property
    def outcome(self) -> Outcome | None:
        """Of the worst chain."""
        return self.worst.outcome

    @property
    def scores(self) -> Repeats:
        """The scores there are, nested as the repeats are."""
        return [
            [[float(chain.score) for chain in verdicts if chain.score is not None] for verdicts in readings]
            for readings in self.repeats
        ]

    @property
    def mean_score(self) -> float | None:
        """Mean over the repeats that have a score, 0..1."""
        known = [chain.score for chain in self.chains if chain.score is not None]
        return sum(known) / len(known) if known else None

    @property
    def complete(self) -> bool:
        """Whether every repeat has a score."""
        return all(chain.score is not None for chain in self.chains)


def mean_over_answers(
    result: QuestionResult, figure: Callable[[QueryRecord], float | bool | None]
) -> float | None:
    """A figure of a question: its mean over the answers that have it; None where none has."""
    known = [float(value) for query in result.answers if (value := figure(query)) is not None]
    return fmean(known) if known else None


class QuestionRecords:
    """The records of one question as one revision of the run sees them."""

    def __init__(self, folder: RunFolder, run: RunRecord, question_id: str) -> None:
        self._folder = folder
        self._run = run
        self._queries = folder.records(question_id, QueryRecord)
        self._readings = folder.records(question_id, ReadingRecord)
        self._verdicts = folder.records(question_id, VerdictRecord)
        self._revisions = folder.revisions() | {run.revision}

    def query(self, repeat: int) -> QueryRecord | None:
        return _last(self._queries, lambda one: one.repeat == repeat)

    def reading(self, query: QueryRecord | None, repeat: int) -> ReadingRecord | None:
        """The current reading of that query's context."""
        if query is None:
            return None
        return _last(
            self._readings,
            lambda one: (
                (one.query_k, one.repeat) == (query.k, repeat)
                and self._counts(one.revision, self._run.readings_since)
            ),
        )

    def verdict(self, reading: ReadingRecord | None, repeat: int) -> VerdictRecord | None:
        """The current verdict on that reading's response."""
        if reading is None:
            return None
        return _last(
            self._verdicts,
            lambda one: (
                (one.reading_k, one.repeat) == (reading.k, repeat)
                and (self._counts(one.revision, self._run.verdicts_since) or _needed_no_judge(one))
            ),
        )

    def drop_contexts(self) -> None:
        """Forget what the memory returned; it stays on disk."""
        for query in self._queries:
            query.result.context = MemoryContext()

    def _counts(self, revision: int, since: int) -> bool:
        """Whether what a revision recorded is this one's too; one that never ended is nobody's."""
        return since <= revision <= self._run.revision and revision in self._revisions

    def result(self, question_id: str) -> QuestionResult:
        """All of it."""
        counts = self._run.config.repeats
        repeats = []
        for agent in range(counts.agent):
            query = self.query(agent)
            readings = [self.reading(query, repeat) for repeat in range(counts.reader)]
            repeats.append(
                tuple(
                    tuple(
                        Chain(query, reading, self.verdict(reading, repeat)) for repeat in range(counts.judge)
                    )
                    for reading in readings
                )
            )
        return QuestionResult(question_id, self._run.question_types[question_id], tuple(repeats))


def load_results(folder: RunFolder, record: RunRecord) -> list[QuestionResult]:
    """All questions of the run in their order, with what is recorded of them."""
    return [QuestionRecords(folder, record, one).result(one) for one in record.questions]


def load_figures(folder: RunFolder, record: RunRecord) -> list[QuestionResult]:
    """As load_results with empty contexts: half a megabyte a question, which no figure needs."""
    results = []
    for question_id in record.questions:
        records = QuestionRecords(folder, record, question_id)
        records.drop_contexts()
        results.append(records.result(question_id))
    return results


def _last(records: Sequence[R], wanted: Callable[[R], bool]) -> R | None:
    return next((one for one in reversed(records) if wanted(one)), None)


def _needed_no_judge(record: VerdictRecord) -> bool:
    """A matcher says the same whoever judges."""
    return record.verdict is not None and record.verdict.judge_prompt_sha256 is None
