"""What a run would have had at an earlier deadline, from the drafts that its agents saved on the way.

Post hoc: the agent did not know of the deadline, and one that knows works otherwise. A draft's time is the
one in its name, which the agent could have forged. No model is asked, so a score is known only where the
evidence at the deadline is the one that was read in the end.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from evals.dataset import DataRoot
from evals.evidence_recall import evidence_recall
from evals.recorded import RecordedRun
from evals.runs.records import QueryRecord
from evals.runs.results import QuestionResult
from manifests.store import Entry, Store
from runbook.evidence import Evidence, InvalidEvidence, KnownTrajectories, Span, read_evidence

Timelines = Sequence[tuple[QueryRecord, Sequence["Moment"]]]
DRAFTS = ("workspace", "notes", "drafts")
_NAME = "%Y%m%dT%H%M%S.%fZ.json"
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class Moment:
    """Evidence that was there from `seconds` on, counted from the question in hand."""

    seconds: float
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A run at one deadline; shares are 0..1, over the questions to which the memory has answered.

    With repeats a question's figures are the means over its answers.
    """

    deadline: float
    questions: int
    answers: int
    """To these questions, all repeats counted."""
    with_evidence: int
    """Answers that had a draft or the final evidence by then."""
    with_final: int
    """Had the final evidence by then."""
    seconds: float
    """Mean latency, none longer than the deadline."""
    gold_questions: int
    evidence_hit: float | None
    all_pieces_hit: float | None
    scored: int
    """Questions with a score in the run."""
    known: int
    """Of these, the ones whose scores at the deadline are all known."""
    accuracy_low: float | None
    """Were every score that is not known a 0; `accuracy_high` were it a 1."""
    accuracy_high: float | None


def what_if(run: RecordedRun, data: DataRoot, store: Store, deadlines: Sequence[float]) -> list[WhatIf]:
    """Score the latest draft of every question at each deadline (seconds, ascending in the result).

    Args:
        data: the run's own data root, unchanged.
        store: the run's own store, for the names and lengths of trajectories.
    """
    entries = {entry.id: entry for entry in store.entries()}
    timelines = {
        question: [
            (query, timeline(run, query, _known(data.haystacks.get(question, ()), entries)))
            for query in result.answers
        ]
        for question, result in run.answered().items()
    }
    return [_at(run, data, timelines, deadline) for deadline in sorted(set(deadlines))]


def timeline(run: RecordedRun, record: QueryRecord, known: KnownTrajectories) -> list[Moment]:
    """All valid drafts of an answer and, last, its final evidence, by time."""
    query = record.result
    moments = []
    if query.attempts:
        before = query.timings.get("candidates", 0.0)
        begun = datetime.fromisoformat(query.attempts[0].started_at)
        folder = run.folder.attempts_folder(record.question_id)
        for attempt in query.attempts:
            for saved_at, path in _drafts(folder / str(attempt.number)):
                evidence = _read(path, known, run.record.config.budget)
                seconds = before + (saved_at - begun).total_seconds()
                if evidence is not None and 0 <= seconds < query.seconds:
                    moments.append(Moment(seconds, evidence))
    moments.sort(key=lambda moment: moment.seconds)
    if query.evidence is not None:
        moments.append(Moment(query.seconds, query.evidence))
    return moments


def _known(haystack: Sequence[str], entries: Mapping[str, Entry]) -> KnownTrajectories:
    present = [entries[one] for one in haystack if one in entries]
    return KnownTrajectories((entry.id, entry.slug, entry.states) for entry in present)


def _drafts(attempt: Path) -> Iterator[tuple[datetime, Path]]:
    """The drafts of an attempt with their times; what an agent put there besides is passed over."""
    folder = attempt
    for part in DRAFTS:
        folder = folder / part
        if folder.is_symlink() or not folder.is_dir():
            return
    for name in sorted(os.listdir(folder))[:_MOST]:  # noqa: PTH208 - names only
        try:
            saved_at = datetime.strptime(name, _NAME).replace(tzinfo=UTC)
        except ValueError:
            continue
        yield saved_at, folder / name


def _read(path: Path, known: KnownTrajectories, budget: int) -> Evidence | None:
    try:
        return read_evidence(path, known, budget=budget).evidence
    except InvalidEvidence:
        return None


def _at(run: RecordedRun, data: DataRoot, timelines: Mapping[str, Timelines], deadline: float) -> WhatIf:
    at = {question: [_answer(*one, deadline) for one in answers] for question, answers in timelines.items()}
    recalls = {
        question: [evidence_recall(one.spans, gold) for one in answers]
        for question, answers in at.items()
        if (gold := (data.gold or {}).get(question)) is not None and gold.pieces
    }
    scores = {question: _scores(result, at[question]) for question, result in run.scored().items()}
    answers = [one for answers in at.values() for one in answers]
    return WhatIf(
        deadline=deadline,
        questions=len(at),
        answers=len(answers),
        with_evidence=sum(one.evidence is not None for one in answers),
        with_final=sum(one.final for one in answers),
        seconds=_mean([fmean(min(one.seconds, deadline) for one in answers) for answers in at.values()])
        or 0.0,
        gold_questions=len(recalls),
        evidence_hit=_mean([fmean(one.hit or 0.0 for one in found) for found in recalls.values()]),
        all_pieces_hit=_mean(
            [fmean(bool(one.all_pieces_hit) for one in found) for found in recalls.values()]
        ),
        scored=len(scores),
        known=sum(None not in one for one in scores.values()),
        accuracy_low=_mean([fmean(score or 0 for score in one) for one in scores.values()]),
        accuracy_high=_mean(
            [fmean(1 if score is None else score for score in one) for one in scores.values()]
        ),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one answer was at a deadline."""

    k: int
    seconds: float
    evidence: Evidence | None
    final: bool
    as_in_the_end: bool

    @property
    def spans(self) -> Sequence[Span]:
        return self.evidence.trajectory_spans if self.evidence else ()


def _answer(record: QueryRecord, moments: Sequence[Moment], deadline: float) -> _Answer:
    latest = next((one.evidence for one in reversed(moments) if one.seconds <= deadline), None)
    last = record.result
    return _Answer(
        k=record.k,
        seconds=last.seconds,
        evidence=latest,
        final=last.evidence is not None and last.seconds <= deadline,
        as_in_the_end=latest == last.evidence,
    )


def _scores(result: QuestionResult, answers: Sequence[_Answer]) -> list[int | None]:
    """The scores of a question's repeats, None where the one at the deadline is not known."""
    kept = {one.k for one in answers if one.as_in_the_end}
    scored = [(chain.query, chain.score) for chain in result.chains if chain.score is not None]
    return [score if query is not None and query.k in kept else None for query, score in scored]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
