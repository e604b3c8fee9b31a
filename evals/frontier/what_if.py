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
from evals.runs.results import QuestionResult
from manifests.store import Entry, Store
from runbook.evidence import Evidence, InvalidEvidence, KnownTrajectories, read_evidence

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
    """A run at one deadline; shares are 0..1, over the questions to which the memory has answered."""

    deadline: float
    questions: int
    with_evidence: int
    """Had a draft or the final evidence by then."""
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
    """Of these, the ones whose score at the deadline is known."""
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
        question: timeline(run, result, _known(data.haystacks.get(question, ()), entries))
        for question, result in run.answered().items()
    }
    return [_at(run, data, timelines, deadline) for deadline in sorted(set(deadlines))]


def timeline(run: RecordedRun, result: QuestionResult, known: KnownTrajectories) -> list[Moment]:
    """All valid drafts of a question and, last, its final evidence, by time."""
    assert result.query is not None
    query = result.query.result
    moments = []
    if query.attempts:
        before = query.timings.get("candidates", 0.0)
        begun = datetime.fromisoformat(query.attempts[0].started_at)
        folder = run.folder.attempts_folder(result.question_id)
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


def _at(
    run: RecordedRun, data: DataRoot, timelines: Mapping[str, Sequence[Moment]], deadline: float
) -> WhatIf:
    answered = run.answered()
    latest = {
        question: next((m.evidence for m in reversed(moments) if m.seconds <= deadline), None)
        for question, moments in timelines.items()
    }
    seconds = [one.query.result.seconds for one in answered.values() if one.query]
    recalls = [
        evidence_recall(evidence.trajectory_spans if evidence else (), gold)
        for question, evidence in latest.items()
        if (gold := (data.gold or {}).get(question)) is not None and gold.pieces
    ]
    scored = run.scored()
    known = [
        result.score or 0
        for question, result in scored.items()
        if result.query and latest[question] == result.query.result.evidence
    ]
    return WhatIf(
        deadline=deadline,
        questions=len(answered),
        with_evidence=sum(evidence is not None for evidence in latest.values()),
        with_final=sum(
            one.query is not None
            and one.query.result.evidence is not None
            and one.query.result.seconds <= deadline
            for one in answered.values()
        ),
        seconds=fmean(min(one, deadline) for one in seconds) if seconds else 0.0,
        gold_questions=len(recalls),
        evidence_hit=fmean(one.hit or 0.0 for one in recalls) if recalls else None,
        all_pieces_hit=fmean(bool(one.all_pieces_hit) for one in recalls) if recalls else None,
        scored=len(scored),
        known=len(known),
        accuracy_low=sum(known) / len(scored) if scored else None,
        accuracy_high=(sum(known) + len(scored) - len(known)) / len(scored) if scored else None,
    )
