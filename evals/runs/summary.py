"""The figures of a run, finished or not, from its current records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evals.aggregate import latency_figures
from evals.evidence_recall import summarize_answers, summarize_recall
from evals.runs.config import RunRecord
from evals.runs.folder import RunFolder
from evals.runs.records import QueryRecord, ReadingRecord, VerdictRecord, is_scoreless
from evals.runs.spending import spending
from evals.statistics.intervals import wilson_interval
from runbook.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The current record of each stage; one made from an older record of the stage before is missing."""

    question_id: str
    question_type: str
    query: QueryRecord | None
    reading: ReadingRecord | None
    verdict: VerdictRecord | None

    @property
    def outcome(self) -> Outcome | None:
        """The first stage that did not go well, else ok; None where nothing is recorded yet."""
        if self.query is None:
            return None
        for record in (self.query, self.reading, self.verdict):
            if record is not None and record.outcome is not Outcome.OK:
                return record.outcome
        return Outcome.OK

    @property
    def score(self) -> int | None:
        if self.verdict is None or self.verdict.verdict is None:
            return None
        return self.verdict.verdict.score


def load_results(folder: RunFolder, record: RunRecord) -> list[QuestionResult]:
    """All questions of the run in their order, with what is recorded of them."""
    results = []
    for question_id in record.questions:
        query = folder.current(question_id, QueryRecord)
        reading = folder.current(question_id, ReadingRecord)
        verdict = folder.current(question_id, VerdictRecord)
        if query is None or (reading is not None and reading.query_k != query.k):
            reading = None
        if reading is None or (verdict is not None and verdict.reading_k != reading.k):
            verdict = None
        results.append(
            QuestionResult(question_id, record.question_types[question_id], query, reading, verdict)
        )
    return results


def is_pending(result: QuestionResult, *, with_reader: bool, retry: frozenset[Outcome]) -> bool:
    """Whether a resume has something to do for a question: a stage is missing, or to be done again."""
    if result.query is None or result.query.outcome in retry:
        return True
    if not with_reader or is_scoreless(result.query.outcome):
        return False
    if result.reading is None or result.reading.outcome in retry:
        return True
    if is_scoreless(result.reading.outcome):
        return False
    return result.verdict is None or result.verdict.outcome in retry


def summarise(folder: RunFolder) -> dict[str, Any]:
    """All figures that `runbook eval show --json` prints; shares are 0..1, seconds are wall time."""
    record = folder.record()
    results = load_results(folder, record)
    queried = [result for result in results if result.query is not None]
    with_reader = record.config.reader is not None
    outcomes = Counter(result.outcome.value for result in results if result.outcome is not None)
    correct = sum(result.score or 0 for result in results) if with_reader else None
    return {
        "questions": len(results),
        "tier_questions": record.tier_questions,
        "smoke": record.smoke,
        "finished": sum(_is_finished(result, with_reader) for result in results),
        "coverage": _share(_is_covered(result, with_reader) for result in results),
        "outcomes": dict(sorted(outcomes.items())),
        "accuracy": _accuracy(results) if with_reader else None,
        **_in_context(queried),
        "evidence": _evidence(queried),
        "latency": latency_figures([result.query.result.seconds for result in queried if result.query]),
        "model_use": spending([result.query for result in queried if result.query], correct),
        "attempts_per_question": _mean([len(r.query.result.attempts) for r in queried if r.query]),
        "sandbox": _sandbox(queried) or record.config.sandbox,
        "agent": record.config.agent,
        "reader": record.config.reader.model if record.config.reader else None,
        "judge": record.config.judge.model if record.config.judge else None,
        "tier": record.config.tier,
    }


def _is_covered(result: QuestionResult, with_reader: bool) -> bool:
    """With a reader a question counts once it has a score, without one once the memory has answered."""
    if with_reader:
        return result.score is not None
    return result.query is not None and not is_scoreless(result.query.outcome)


def _is_finished(result: QuestionResult, with_reader: bool) -> bool:
    if result.outcome is Outcome.CANCELLED:
        return False
    return _is_covered(result, with_reader) or (result.outcome is not None and is_scoreless(result.outcome))


def _accuracy(results: Sequence[QuestionResult]) -> dict[str, Any]:
    by_type: dict[str, list[int]] = {}
    for result in results:
        scores = by_type.setdefault(result.question_type, [])
        if result.score is not None:
            scores.append(result.score)
    scored = [score for scores in by_type.values() for score in scores]
    return {
        "strict": sum(scored) / len(results) if results else None,
        "conditional": _mean(scored),
        "interval": _interval(scored),
        "scored": len(scored),
        "by_type": {kind: _mean(scores) for kind, scores in sorted(by_type.items())},
    }


def _interval(scores: Sequence[int]) -> list[float] | None:
    """Wilson's 95 % interval of the share of ones, as [low, high]."""
    found = wilson_interval(sum(scores), len(scores))
    return [found.low, found.high] if found else None


def _in_context(results: Sequence[QuestionResult]) -> dict[str, Any]:
    found = [r.query.answer_in_context for r in results if r.query and r.query.answer_in_context]
    own = summarize_answers([one.context for one in found])
    return {
        "answer_in_context": own.share,
        "answer_in_context_n": own.n,
        "answer_in_context_interval": _interval([1] * own.passed + [0] * (own.n - own.passed)),
        "answer_in_context_gold": summarize_answers([one.gold_spans for one in found]).share,
        "answer_in_context_random": summarize_answers([one.random_states for one in found]).share,
    }


def _evidence(results: Sequence[QuestionResult]) -> dict[str, Any]:
    recalls = [r.query.evidence_recall for r in results if r.query and r.query.evidence_recall]
    figures = summarize_recall(recalls)
    return {
        "hit": figures.hit,
        "all_pieces_hit": figures.all_pieces_hit,
        "strict": figures.strict,
        "states_per_question": figures.states_per_question,
        "n": figures.questions,
    }


def _sandbox(results: Sequence[QuestionResult]) -> str:
    """The back ends that attempts really ran in."""
    names = {attempt.sandbox for r in results if r.query for attempt in r.query.result.attempts}
    return "+".join(sorted(names))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _share(flags: Iterable[bool]) -> float | None:
    return _mean([float(flag) for flag in flags])
