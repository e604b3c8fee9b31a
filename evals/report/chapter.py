"""What a report shows of one question in one run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from evals.report.evidence import GoldPiece, ShownSpan, drawn, gold_pieces, shown_spans
from evals.report.loading import ReportedRun, is_by_agent
from evals.report.pictures import Studio
from evals.report.room import ITEM_BYTES, Room, shares
from evals.report.texts import Excerpt, Texts
from evals.report.timeline import Timeline, read_timeline
from evals.report.timings import Phase, phases
from evals.runs.folder import question_slug
from evals.runs.results import Chain, QuestionResult
from evals.traces.run import QuestionTrace
from runbook.context import TextItem
from runbook.memory import AttemptRecord, QueryResult
from runbook.traces import TraceError, read_trace
from runbook.untrusted_files import UnreadableFile, read_untrusted

_DIFF_BYTES = 4_000_000
_MOST_SPANS = 40
_MOST_STATES = 40
_MOST_ITEMS = 120
_NO_AGENT = "This memory has no agent, so there is no timeline."


@dataclass(frozen=True, slots=True)
class SeenItem:
    """One item of what the reader was given; an image is named only."""

    text: Excerpt | None
    image: str


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """One attempt: its record, what it did, and what it changed in its workspace."""

    record: AttemptRecord
    phases: list[Phase]
    timeline: Timeline | None
    problem: str
    """Why there is no timeline."""
    diff: Excerpt | None
    place: str
    """Its folder, below the run's."""

    @property
    def by_agent(self) -> bool:
        """Whether an agent made it, else a memory that searches by itself."""
        return is_by_agent(self.record)


@dataclass(frozen=True, slots=True)
class Chapter:
    """One question in one run, ready to be shown."""

    letter: str
    place: str
    """The question's folder, below the run's."""
    result: QuestionResult
    note: Excerpt | None
    status: str
    spans: list[ShownSpan]
    spans_left_out: int
    pictures_left_out: int
    gold: list[GoldPiece]
    seen: list[SeenItem]
    items_left_out: int
    response: Excerpt | None
    reason: Excerpt | None
    phases: list[Phase]
    attempts: list[ShownAttempt]
    trace: QuestionTrace | None
    chains: Sequence[Chain]
    """All ways through the stages, where there is more than one."""

    @property
    def query(self) -> QueryResult | None:
        return self.result.query.result if self.result.query else None

    @property
    def mark(self) -> str:
        """right, wrong, mixed where its repeats are not of one mind, or open for a question without score."""
        score = self.result.mean_score
        return "open" if score is None else {0.0: "wrong", 1.0: "right"}.get(score, "mixed")

    @property
    def outcome(self) -> str:
        """Of the question; "" where nothing is recorded."""
        return self.result.outcome.value if self.result.outcome else ""

    @property
    def by_agent(self) -> bool:
        """Whether an agent had a part in the memory's answer."""
        return any(attempt.by_agent for attempt in self.attempts)

    @property
    def seconds(self) -> float | None:
        """Of the memory's answer, the mean over repeats; where none counts, what the first took."""
        return self.result.seconds if self.result.answers else self.query.seconds if self.query else None

    @property
    def cost(self) -> float | None:
        """USD of all attempts; None where any is unknown or no model was used."""
        wires = [attempt.wire for attempt in self.query.attempts] if self.query else []
        costs = [wire.cost_usd if wire else None for wire in wires]
        return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


def chapter(
    run: ReportedRun, result: QuestionResult, texts: Texts, studio: Studio | None, room: Room
) -> Chapter:
    """Put together what is shown of a question. Nothing that is damaged or gone raises.

    Args:
        studio: draws thumbnails; None where pictures are not shown, or are files.
    """
    query = result.query.result if result.query else None
    spans, spans_left_out = shown_spans(run, result.question_id, query, texts, room)
    spans, undrawn = drawn(spans, studio, room.pictures)
    seen, items_left_out = _seen(query, texts, room.context)
    chains = list(result.chains)
    evidence = query.evidence if query else None
    reading = result.reading.reading if result.reading else None
    verdict = result.verdict.verdict if result.verdict else None
    return Chapter(
        letter=run.letter,
        place=f"questions/{question_slug(result.question_id)}",
        result=result,
        note=texts.excerpt(evidence.memory_markdown, room.note) if evidence else None,
        status=evidence.evidence_status.value if evidence and evidence.evidence_status else "",
        spans=spans,
        spans_left_out=spans_left_out,
        pictures_left_out=undrawn,
        gold=gold_pieces(run.gold.get(result.question_id), query),
        seen=seen,
        items_left_out=items_left_out,
        response=texts.excerpt(reading.response, room.response) if reading else None,
        reason=texts.excerpt(verdict.reason, room.response) if verdict and verdict.reason else None,
        phases=_phases(query) if query else [],
        attempts=_attempts(run, result.question_id, query, texts, room),
        trace=run.traces.get(result.question_id),
        chains=chains if len(chains) > 1 else (),
    )


def _phases(query: QueryResult) -> list[Phase]:
    by_agent = not query.attempts or any(map(is_by_agent, query.attempts))
    return phases(query.timings, query.seconds, by_agent=by_agent)


def asked_text(run: ReportedRun, question_id: str) -> str:
    """The question as the agent got it, from what an attempt kept; "" where none did."""
    folder = run.folder.attempts_folder(question_id)
    for place in sorted(folder.glob("*/workspace"))[:3] if folder.is_dir() else ():
        try:
            told = orjson.loads(read_untrusted(place / "question.json", 1_000_000, below=folder))
        except (UnreadableFile, orjson.JSONDecodeError):
            continue
        if isinstance(told, dict) and isinstance(told.get("question"), str):
            return str(told["question"])
    return ""


def _seen(query: QueryResult | None, texts: Texts, room: int) -> tuple[list[SeenItem], int]:
    if query is None:
        return [], 0
    items = query.context.items if texts.whole else query.context.items[:_MOST_ITEMS]
    sizes = [len(one.text) if isinstance(one, TextItem) else 0 for one in items]
    given = sizes if texts.whole else shares(sizes, room, ITEM_BYTES)
    seen = [
        SeenItem(texts.excerpt(one.text, share), "")
        if isinstance(one, TextItem)
        else SeenItem(None, f"{Path(one.path).parent.parent.name} state {Path(one.path).stem}")
        for one, share in zip(items, given, strict=True)
    ]
    return seen, len(query.context.items) - len(items)


def _attempts(
    run: ReportedRun, question_id: str, query: QueryResult | None, texts: Texts, room: Room
) -> list[ShownAttempt]:
    records = query.attempts if query else []
    steps = max(4, room.steps // max(1, len(records)))
    made = []
    for record in records:
        place = run.folder.attempts_folder(question_id) / str(record.number)
        by_agent = is_by_agent(record)
        timeline, problem = _timeline(place, texts, steps, room.step) if by_agent else (None, _NO_AGENT)
        made.append(
            ShownAttempt(
                record=record,
                phases=phases(record.timings, record.seconds, by_agent=by_agent),
                timeline=timeline,
                problem=problem,
                diff=_diff(place, texts, room.diff // max(1, len(records))),
                place=f"questions/{question_slug(question_id)}/attempts/{record.number}",
            )
        )
    return made


def _timeline(place: Path, texts: Texts, steps: int, step_bytes: int) -> tuple[Timeline | None, str]:
    if not (place / "trace.jsonl").is_file():
        return None, "No trace was kept."
    try:
        return read_timeline(read_trace(place / "trace.jsonl"), texts, steps=steps, step_bytes=step_bytes), ""
    except TraceError as error:
        return None, f"The trace cannot be read: {error}"


def _diff(place: Path, texts: Texts, most: int) -> Excerpt | None:
    try:
        data = read_untrusted(place / "workspace.diff", _DIFF_BYTES)
    except UnreadableFile:
        return None
    return texts.excerpt(data.decode("utf-8", "replace"), most) if data.strip() else None
