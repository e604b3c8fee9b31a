"""A run that is under way, as its files tell it. Nothing is written, locked or asked of the run itself."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from evals.runs.folder import LOCK_FILE, RunError, RunFolder
from evals.runs.records import is_scoreless
from evals.runs.results import QuestionRecords, QuestionResult
from runbook.files import open_regular
from runbook.outcomes import Outcome
from runbook.traces.commands import command_of, parsed_arguments

_READ_BYTES = 4_000_000
"""Of one file at one look; what is more is read at the next."""
_TAIL_BYTES = 4096
_RATE_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class RunningAttempt:
    """An attempt that has begun and of which there is no record yet."""

    question_id: str
    number: int
    seconds: float
    calls: int
    cost_usd: float | None
    """None where the price of any call is unknown."""
    command: str
    """The last that it ran, or the last line that it printed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that did not go well."""

    question_id: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one moment."""

    questions: int
    finished: int
    outcomes: Mapping[str, int]
    right: float
    """Of `scored`; a question with repeats counts with their mean."""
    scored: int
    running: list[RunningAttempt]
    new_failures: list[Failure]
    """Since the look before."""
    cost_usd: float | None
    """Of all model calls so far; None where the price of any is unknown."""
    calls: int
    per_minute: float | None
    """Questions answered over the last ten minutes; None before the first."""
    working: bool | None
    """Whether a process works on the run; None where that cannot be told."""

    @property
    def seconds_left(self) -> float | None:
        """At this rate; None where there is none."""
        left = self.questions - self.finished
        return None if not self.per_minute else 60 * left / self.per_minute


@dataclass(slots=True)
class _CallLog:
    """The model calls of an attempt, read on from where the last look ended."""

    path: Path
    offset: int = 0
    rest: bytes = b""
    calls: int = 0
    cost: float = 0.0
    priced: bool = True
    command: str = ""

    def read_on(self) -> None:
        with suppress(OSError), open_regular(self.path) as file:
            file.seek(self.offset)
            data = file.read(_READ_BYTES)
            self.offset += len(data)
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        with suppress(orjson.JSONDecodeError):
            call = orjson.loads(line)
            if not isinstance(call, dict) or not call.get("wire"):
                return
            self.calls += 1
            cost = call.get("cost_usd")
            self.priced &= isinstance(cost, (int, float))
            self.cost += cost if isinstance(cost, (int, float)) else 0.0
            self.command = _last_command(call) or self.command


@dataclass(slots=True)
class _Seen:
    """What the last look knew of a question."""

    files: frozenset[str] = frozenset()
    result: QuestionResult | None = None
    told: set[tuple[str, int]] = field(default_factory=set)
    """Stages and numbers of the failures that were told."""


class LiveRun:
    """Looks at a run again and again, reading only what has changed."""

    def __init__(self, path: Path) -> None:
        """Raises RunError where `path` is no run, or of another version."""
        self.folder = RunFolder.open(path)
        self.record = self.folder.record()
        self._seen = {question: _Seen() for question in self.record.questions}
        self._logs: dict[Path, _CallLog] = {}

    @property
    def agent(self) -> str:
        """What the agent calls itself, once an attempt has said so; before, what it was chosen by."""
        results = [seen.result for seen in self._seen.values() if seen.result is not None]
        told = {
            attempt.agent for one in results for query in one.queries for attempt in query.result.attempts
        }
        return "+".join(sorted(told)) or Path(self.record.config.agent).name.removesuffix(".toml")

    def look(self) -> Snapshot:
        """The run as it is now. What is half written or damaged is left for the next look."""
        failures: list[Failure] = []
        running: list[RunningAttempt] = []
        for question_id, seen in self._seen.items():
            failures += self._update(question_id, seen)
            running += self._running(question_id, seen)
        results = [seen.result for seen in self._seen.values() if seen.result is not None]
        outcomes = Counter(one.outcome.value for one in results if one.outcome is not None)
        scores = [score for one in results if (score := one.mean_score) is not None]
        wires = [
            wire
            for one in results
            for query in one.queries
            for attempt in query.result.attempts
            if (wire := attempt.wire) and wire.calls
        ]
        costs = [wire.cost_usd for wire in wires] + [one.cost_usd for one in running if one.calls]
        return Snapshot(
            questions=len(self._seen),
            finished=sum(self._is_finished(one) for one in results),
            outcomes=dict(outcomes),
            right=sum(scores),
            scored=len(scores),
            running=running,
            new_failures=failures,
            cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
            calls=sum(wire.calls for wire in wires) + sum(one.calls for one in running),
            per_minute=_rate(results),
            working=_is_locked(self.folder.path / LOCK_FILE),
        )

    def _update(self, question_id: str, seen: _Seen) -> list[Failure]:
        folder = self.folder.question_folder(question_id)
        try:
            files = frozenset(entry.name for entry in folder.iterdir() if entry.suffix == ".json")
        except OSError:
            return []
        if files == seen.files:
            return []
        try:
            seen.result = QuestionRecords(self.folder, self.record, question_id).result(question_id)
        except RunError:
            return []
        seen.files = files
        return list(_failures(seen.result, seen.told))

    def _is_finished(self, result: QuestionResult) -> bool:
        last = result.worst.last_outcome
        if last is None:
            return False
        if self.record.config.reader is None:
            return len(result.queries) == self.record.config.repeats.agent
        return result.complete or (is_scoreless(last) and last is not Outcome.CANCELLED)

    def _running(self, question_id: str, seen: _Seen) -> Iterator[RunningAttempt]:
        if seen.result is not None and self._is_finished(seen.result):
            return
        folder = self.folder.attempts_folder(question_id)
        try:
            places = sorted(folder.iterdir())
        except OSError:
            return
        for place in places:
            if not place.name.isdecimal() or (place / "attempt.json").exists():
                continue
            with suppress(OSError):
                begun = _begun(place)
                log = self._logs.setdefault(place, _CallLog(place / "model_calls.jsonl"))
                log.read_on()
                yield RunningAttempt(
                    question_id=question_id,
                    number=int(place.name),
                    seconds=max(0.0, time.time() - begun),
                    calls=log.calls,
                    cost_usd=log.cost if log.priced else None,
                    command=log.command or _last_line(place / "stdout"),
                )


def _failures(result: QuestionResult, told: set[tuple[str, int]]) -> Iterator[Failure]:
    for chain in result.chains:
        for record in (chain.query, chain.reading, chain.verdict):
            if record is None or record.outcome is Outcome.OK or (record.stage, record.k) in told:
                continue
            told.add((record.stage, record.k))
            yield Failure(result.question_id, record.outcome, _detail(record))


def _detail(record: Any) -> str:
    if record.stage != "query":
        return str(record.detail)
    attempts = record.result.attempts
    return str(attempts[-1].detail) if attempts else ""


def _rate(results: list[QuestionResult]) -> float | None:
    """Answers a minute: over the last ten minutes, or over all the time where the last is longer ago."""
    times = sorted(
        moment
        for one in results
        for query in one.queries
        if (moment := _moment(query.written_at)) is not None
    )
    if not times:
        return None
    now = datetime.now(UTC).timestamp()
    recent = [one for one in times if one > now - _RATE_SECONDS]
    if recent:
        span = min(_RATE_SECONDS, max(now - times[0], 1.0))
        return 60 * len(recent) / span
    return 60 * len(times) / max(times[-1] - times[0], 1.0)


def _moment(written_at: str) -> float | None:
    try:
        return datetime.fromisoformat(written_at).timestamp()
    except ValueError:
        return None


def _begun(place: Path) -> float:
    """When the attempt began: its history is the first thing that is made."""
    first = place / "history.git" / "HEAD"
    return (first if first.exists() else place).stat().st_mtime


def _last_command(call: dict[str, Any]) -> str:
    calls = call.get("tool_calls")
    last = calls[-1] if isinstance(calls, list) and calls else None
    if not isinstance(last, dict):
        return ""
    arguments = str(last.get("arguments", ""))
    return command_of(parsed_arguments(arguments)).text or f"{last.get('name', '')} {arguments}".strip()


def _last_line(path: Path) -> str:
    with suppress(OSError), open_regular(path) as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def _is_locked(path: Path) -> bool | None:
    """Whether somebody holds the lock, without ever holding it: a run that begins must find it free."""
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    return any(f":{inode} " in line and " FLOCK " in f" {line} " for line in lines)
