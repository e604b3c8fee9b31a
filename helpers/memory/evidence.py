"""Evidence before it is handed in: read from JSON or options, and checked against the haystack.

The controller repairs what it can and drops the rest; here the agent can still mend it itself, so nothing is
dropped, and what cannot be used is an error that says what to write.
"""

from __future__ import annotations

from .failure import HelperError
from .haystack import Workspace
from .page import clip, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

BUDGET = 20
MOST_BYTES = 1 << 20
STATUSES = ("supported", "contradicts_premise", "near_match_only", "insufficient")
KEYS = ("memory_markdown", "trajectory_spans", "evidence_status")
SPAN_KEYS = ("trajectory_id", "start_state_index", "end_state_index")
_MOST_ERRORS = 6
_MOST_SPANS = 1000


class Span:
    """States `start` to `end`, inclusive, of the trajectory `slug`."""

    __slots__ = ("end", "slug", "start")

    def __init__(self, slug: str, start: int, end: int) -> None:
        self.slug = slug
        self.start = start
        self.end = end

    @property
    def size(self) -> int:
        """How many states it holds."""
        return self.end - self.start + 1

    def __str__(self) -> str:
        return f"{self.slug}:{self.start}" + (f"-{self.end}" if self.end > self.start else "")


class Evidence:
    """A note, spans in order of importance (none overlapping another), a status or "", and unknown keys."""

    def __init__(self, note: str, spans: list[Span], status: str, extra: dict[str, object]) -> None:
        self.note = note
        self.spans = spans
        self.status = status
        self.extra = extra

    @property
    def states(self) -> int:
        """Distinct states in all."""
        return sum(span.size for span in self.spans)

    def document(self, workspace: Workspace) -> bytes:
        """The evidence file: JSON with the original ids of the trajectories.

        Raises:
            HelperError: it is larger than an evidence file may be.
        """
        import json

        ids = [row.id for row in workspace.rows()]
        spans = []
        for span in self.spans:
            original = workspace.about(span.slug).get("id", "")
            unique = original and ids.count(" ".join(original.split("\n"))) < 2
            name = original if unique else span.slug
            spans.append(dict(zip(SPAN_KEYS, (name, span.start, span.end))))
        document: dict[str, object] = {"memory_markdown": self.note, "trajectory_spans": spans, **self.extra}
        if self.status:
            document["evidence_status"] = self.status
        raw = json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"
        if len(raw) > MOST_BYTES:
            raise HelperError(f"the evidence has {len(raw)} bytes, at most {MOST_BYTES}: shorten the note")
        return raw


def from_json(raw: bytes, workspace: Workspace) -> Evidence:
    """Evidence from the JSON of an evidence file.

    Raises:
        HelperError: everything that must be mended, in one line.
    """
    value = _object(raw)
    extra = {key: value[key] for key in value if key not in KEYS}
    errors = []
    if extra and not all(key in value for key in KEYS[:2]):  # perhaps one of them is meant
        errors.append(f"unknown key {quote(next(iter(extra)))}; known: {', '.join(KEYS)}")
    note = value.get("memory_markdown", "")
    if not isinstance(note, str):
        errors.append("memory_markdown must be a text")
    status = value.get("evidence_status") or ""
    rows = value.get("trajectory_spans", [])
    if not isinstance(rows, list) or len(rows) > _MOST_SPANS:
        errors.append("trajectory_spans must be a list of spans")
        rows = []
    spans: list[Span] = []
    for number, row in enumerate(rows, 1):
        spans += _collect(errors, f"span {number}", _span_from_json, row, workspace)
    _raise(errors)
    return _evidence(str(note), spans, status, extra)


def from_options(note: str, spans: list[str], status: str, workspace: Workspace) -> Evidence:
    """Evidence from `--note`, `--span ID:A-B` and `--status`.

    Raises:
        HelperError: everything that must be mended, in one line.
    """
    found: list[Span] = []
    errors: list[str] = []
    for text in spans:
        found += _collect(errors, f"--span {quote(text)}", spans_from_text, text, workspace)
    _raise(errors)
    return _evidence(note, found, status, {})


def spans_from_text(text: str, workspace: Workspace) -> list[Span]:
    """The spans of "ID:3-7", "ID:3:7", "ID:3" or "ID:3-7,12"; an ID may hold colons itself.

    Raises:
        HelperError: not of that form, or not in the haystack.
    """
    pieces = text.split(":")
    cuts = [cut for cut in range(1, len(pieces)) if not ":".join(pieces[cut:]).strip("0123456789-:.,")]
    if not cuts:
        raise HelperError("a span is ID:A-B, with the numbers of its first and last state")
    slug, cut = _longest_id(pieces, cuts, workspace)
    ranges = workspace.ranges(slug, ":".join(pieces[cut:]))
    return [Span(slug, first, last) for first, last in ranges]


def over_budget(spans: list[Span]) -> str:
    """What to cut from the end so that the budget is kept; "" when it is."""
    total = sum(span.size for span in spans)
    if total <= BUDGET:
        return ""
    left, advice = BUDGET, []
    for span in spans:
        if span.size > left:
            shorter = f"shorten {span} to {Span(span.slug, span.start, span.start + left - 1)}"
            advice.append(shorter if left else f"drop {span}")
        left = max(0, left - span.size)
    listed = ", ".join(advice[:5]) + (", ..." if len(advice) > 5 else "")
    return f"{total} distinct states, at most {BUDGET}; cut {total - BUDGET}, least important first: {listed}"


def _longest_id(pieces: list[str], cuts: list[int], workspace: Workspace) -> tuple[str, int]:
    """The slug of the longest id that the pieces up to a cut name, and that cut."""
    for cut in reversed(cuts[1:]):
        found = workspace.lookup(":".join(pieces[:cut]).strip())
        if len(found) == 1:
            return found[0], cut
    return workspace.find(":".join(pieces[: cuts[0]]).strip()), cuts[0]


def _evidence(note: str, spans: list[Span], status: object, extra: dict[str, object]) -> Evidence:
    if status and status not in STATUSES:
        raise HelperError(f"the status {quote(str(status))} is none of {', '.join(STATUSES)}")
    merged: list[Span] = []
    for span in spans:
        _merge(merged, span)
    excess = over_budget(merged)
    if excess:
        raise HelperError(excess)
    return Evidence(note, merged, str(status), extra)


def _merge(spans: list[Span], new: Span) -> None:
    """Add a span; where it overlaps others they become one, at the place of the first of them."""
    same = [span for span in spans if span.slug == new.slug]
    touching = [span for span in same if span.start <= new.end and new.start <= span.end]
    if not touching:
        spans.append(new)
        return
    start, end = min(span.start for span in [*touching, new]), max(span.end for span in [*touching, new])
    spans[spans.index(touching[0])] = Span(new.slug, start, end)
    spans[:] = [span for span in spans if span not in touching[1:]]


def _span_from_json(row: object, workspace: Workspace) -> list[Span]:
    if not isinstance(row, dict):
        raise HelperError(f"must be an object with {', '.join(SPAN_KEYS)}")
    missing = [key for key in SPAN_KEYS if key not in row]
    if missing:
        raise HelperError(f"{', '.join(missing)} is missing")
    name = row["trajectory_id"]
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise HelperError("trajectory_id must be a text")
    slug = workspace.find(str(name).strip())
    start, end = (workspace.index(slug, str(_integral(row[key], key))) for key in SPAN_KEYS[1:])
    if start > end:
        raise HelperError(f"start_state_index {start} is after end_state_index {end}")
    return [Span(slug, start, end)]


def _integral(value: object, key: str) -> int:
    if isinstance(value, str) and value.strip().isdigit() and len(value) < 20:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise HelperError(f"{key} is {quote(str(value), 30)}; it must be a whole number from 0")
    return value


def _object(raw: bytes) -> dict[str, object]:
    import json

    if len(raw) > MOST_BYTES:
        raise HelperError(f"the evidence has more than {MOST_BYTES} bytes")
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise HelperError(f"the evidence is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise HelperError(f"the evidence is no JSON: {clip(str(error), 200)}") from None
    if not isinstance(value, dict):
        raise HelperError(f"the evidence must be a JSON object with {', '.join(KEYS)}")
    return value


def _collect(
    errors: list[str], where: str, read: Callable[[T, Workspace], list[Span]], value: T, workspace: Workspace
) -> list[Span]:
    """What `read` gives; its error goes to `errors` instead, so that all are told at once."""
    try:
        return read(value, workspace)
    except HelperError as error:
        errors.append(f"{where}: {error.text}")
        return []


def _raise(errors: list[str]) -> None:
    if errors:
        more = f" | and {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
        raise HelperError(" | ".join(clip(error, 300) for error in errors[:_MOST_ERRORS]) + more)
