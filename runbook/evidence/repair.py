"""Mend the fields of an evidence object, span by span, and say what was mended."""

import re
from typing import Any

from runbook.evidence.known import Known, KnownTrajectories
from runbook.evidence.model import EvidenceStatus, Span

_MAX_SPANS = 1000  # far beyond any budget; the rest is not even looked at
_MAX_REPORTS = 100
_INTEGRAL_TEXT = re.compile(r"\s*([0-9]{1,18})(?:\.0+)?\s*", re.ASCII)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class _Unusable(Exception):  # noqa: N818 - says what it is
    """A span that cannot be mended."""


class Repair:
    """One pass over one object: `repairs` is all that was changed, `dropped` what was lost by it."""

    def __init__(self, known: KnownTrajectories, repairs: list[str]) -> None:
        self.repairs = repairs
        self.dropped: list[str] = []
        self.unknown_ids: list[str] = []
        self._known = known

    def markdown(self, value: Any) -> str:
        if value is None:
            self._note("memory_markdown: null read as empty")
            return ""
        if not isinstance(value, str):
            self._drop(f"memory_markdown: {_kind(value)} instead of text")
            return ""
        text, count = _UNPRINTABLE.subn("\N{REPLACEMENT CHARACTER}", value)
        if count:
            self._note(f"memory_markdown: {count} unprintable characters replaced")
        return text

    def status(self, value: Any) -> EvidenceStatus | None:
        if value is None:
            return None
        name = "_".join(re.findall("[a-z]+", value.lower())) if isinstance(value, str) else ""
        if name not in set(EvidenceStatus):
            self._note(f"evidence_status: {_shown(value)} is none of {', '.join(EvidenceStatus)}; ignored")
            return None
        if name != value:
            self._note(f"evidence_status: {_shown(value)} read as {name}")
        return EvidenceStatus(name)

    def spans(self, value: Any, budget: int) -> tuple[Span, ...]:
        """Usable spans: resolved, in range, merged, within `budget` distinct states."""
        if value is None:
            self._note("trajectory_spans: null read as empty")
            return ()
        if isinstance(value, dict):
            self._note("trajectory_spans: a single span read as a list of one")
            value = [value]
        if not isinstance(value, list):
            self._drop(f"trajectory_spans: {_kind(value)} instead of a list")
            return ()
        if len(value) > _MAX_SPANS:
            self._note(f"trajectory_spans: {len(value) - _MAX_SPANS} spans beyond {_MAX_SPANS} not read")
        spans: list[Span] = []
        for number, raw in enumerate(value[:_MAX_SPANS], 1):
            try:
                span = self._span(f"span {number}", raw)
            except _Unusable as error:
                self._drop(f"span {number}: {error}; dropped")
            else:
                self._merge(spans, span)
        return self._within(budget, spans)

    def _span(self, where: str, raw: Any) -> Span:
        if not isinstance(raw, dict):
            raise _Unusable(f"{_kind(raw)} instead of an object")
        trajectory = self._trajectory(where, raw.get("trajectory_id"))
        start = self._index(where, "start_state_index", raw)
        end = self._index(where, "end_state_index", raw)
        if start > end:
            self._note(f"{where}: start {start} after end {end}; swapped")
            start, end = end, start
        last = trajectory.states - 1
        if start > last:
            raise _Unusable(f"starts at {start}, the last state is {last}")
        if end > last:
            self._note(f"{where}: end {end} clipped to the last state {last}")
        return Span(trajectory_id=trajectory.id, start_state_index=start, end_state_index=min(end, last))

    def _trajectory(self, where: str, value: Any) -> Known:
        if isinstance(value, int) and not isinstance(value, bool):
            self._note(f"{where}: trajectory_id {_shown(value)} read as text")
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            raise _Unusable(f"trajectory_id is {_kind(value)}")
        if exact := self._known.exact(value):
            return exact
        if exact := self._known.exact(value.strip()):
            self._note(f"{where}: spaces around trajectory_id removed")
            return exact
        matches = self._known.by_prefix(value.strip())
        if len(matches) == 1:
            self._note(f"{where}: prefix {_shown(value)} read as {_shown(matches[0].id)}")
            return matches[0]
        if _shown(value) not in self.unknown_ids and len(self.unknown_ids) < _MAX_REPORTS:
            self.unknown_ids.append(_shown(value))
        if matches:
            raise _Unusable(f"ambiguous prefix {_shown(value)}: {len(matches)} trajectories")
        raise _Unusable(f"unknown trajectory {_shown(value)}")

    def _index(self, where: str, key: str, raw: dict[str, Any]) -> int:
        value = raw.get(key)
        index = _integral(value)
        if index is None:
            raise _Unusable(f"{key} is {_shown(value)}, not a number from 0 on")
        if not isinstance(value, int):
            self._note(f"{where}: {key} {_shown(value)} read as {index}")
        return index

    def _merge(self, spans: list[Span], new: Span) -> None:
        """Add `new`, joining it with those it overlaps at the place of the earliest of them."""
        touching = [
            position
            for position, span in enumerate(spans)
            if span.trajectory_id == new.trajectory_id
            and span.start_state_index <= new.end_state_index
            and new.start_state_index <= span.end_state_index
        ]
        if not touching:
            spans.append(new)
            return
        joined = [spans[position] for position in touching] + [new]
        merged = Span(
            trajectory_id=new.trajectory_id,
            start_state_index=min(span.start_state_index for span in joined),
            end_state_index=max(span.end_state_index for span in joined),
        )
        self._note(f"{len(joined)} overlapping spans of {_shown(new.trajectory_id)} merged")
        for position in reversed(touching[1:]):
            del spans[position]
        spans[touching[0]] = merged

    def _within(self, budget: int, spans: list[Span]) -> tuple[Span, ...]:
        kept: list[Span] = []
        left = budget
        for span in spans:
            if left <= 0:
                break
            kept.append(span.model_copy(update={"end_state_index": span.states[:left][-1]}))
            left -= len(kept[-1].states)
        given = sum(len(span.states) for span in spans)
        if given > budget:
            self._note(f"{given} states cut to the budget of {budget}, least important first")
        return tuple(kept)

    def _note(self, repair: str) -> None:
        if len(self.repairs) < _MAX_REPORTS:
            self.repairs.append(repair)
        elif len(self.repairs) == _MAX_REPORTS:
            self.repairs.append("further repairs not listed")

    def _drop(self, what: str) -> None:
        self._note(what)
        self.dropped.append(what)


def _integral(value: Any) -> int | None:
    """The non-negative integer that a JSON value means, if it means one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = _INTEGRAL_TEXT.fullmatch(value)
        return int(match[1]) if match else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and value >= 0 else None


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return "missing" if value is None else names.get(type(value), "an object")


def _shown(value: Any) -> str:
    """A value for a message: one line, printable, short."""
    if isinstance(value, dict | list):
        return _kind(value)
    text = value if isinstance(value, str) else repr(value)
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:81])
    return text if len(text) <= 80 else f"{text[:80]}..."
