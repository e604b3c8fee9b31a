"""The evidence as a report shows it: spans, their states with screenshots, and the gold beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.question import Gold, GoldSpan
from evals.report.loading import ReportedRun
from evals.report.pictures import Studio, Thumbnail
from evals.report.room import MOST_PICTURES, Room
from evals.report.texts import Excerpt, Texts
from evals.traces.funnel import is_gold
from manifests.entry import Screenshot
from runbook.memory import QueryResult

_MOST_SPANS = 40
_MOST_STATES = 40


@dataclass(frozen=True, slots=True)
class ShownState:
    """One state of the evidence."""

    index: int
    gold: bool
    url: Excerpt
    action: Excerpt
    screenshot: Screenshot | None
    thumbnail: Thumbnail | None = None


@dataclass(frozen=True, slots=True)
class ShownSpan:
    """One span of the evidence, with the states that are shown of it."""

    trajectory: str
    start: int
    end: int
    goal: Excerpt
    states: list[ShownState]


@dataclass(frozen=True, slots=True)
class GoldPiece:
    """A piece of the gold, and whether the evidence hit it."""

    spans: list[str]
    hit: bool


def shown_spans(
    run: ReportedRun, question_id: str, query: QueryResult | None, texts: Texts, room: Room
) -> tuple[list[ShownSpan], int]:
    if query is None or query.evidence is None:
        return [], 0
    gold = run.gold.get(question_id)
    given = query.evidence.trajectory_spans
    left = _MOST_STATES
    share = room.states // max(1, min(left, sum(len(span.states) for span in given)))
    spans = []
    for span in given[:_MOST_SPANS]:
        entry = run.archive.entries.get(span.trajectory_id)
        states = []
        for index in span.states[:left]:
            head = run.archive.head(span.trajectory_id, index)
            states.append(
                ShownState(
                    index=index,
                    gold=gold is not None and is_gold((span.trajectory_id, index), gold),
                    url=texts.excerpt(head.url, min(160, share // 2)),
                    action=texts.excerpt(head.action, min(200, share // 2)),
                    screenshot=run.archive.screenshot(span.trajectory_id, index),
                )
            )
        left -= len(states)
        goal = texts.excerpt(entry.goal if entry else "", min(300, share))
        spans.append(
            ShownSpan(span.trajectory_id, span.start_state_index, span.end_state_index, goal, states)
        )
    return spans, len(given) - len(spans)


def drawn(spans: list[ShownSpan], studio: Studio | None, room: int) -> tuple[list[ShownSpan], int]:
    """The spans with thumbnails of their first screenshots, and how many screenshots have none."""
    shots = list(dict.fromkeys(one.screenshot for span in spans for one in span.states if one.screenshot))
    if studio is None:
        return spans, 0
    chosen = shots[:MOST_PICTURES]
    made = dict(zip(chosen, studio.draw(chosen, room), strict=True))
    told: set[Screenshot] = set()
    for_states = []
    for span in spans:
        states = []
        for one in span.states:
            fresh = one.screenshot is not None and one.screenshot not in told
            thumbnail = made.get(one.screenshot) if fresh and one.screenshot else None
            if one.screenshot:
                told.add(one.screenshot)
            states.append(ShownState(one.index, one.gold, one.url, one.action, one.screenshot, thumbnail))
        for_states.append(ShownSpan(span.trajectory, span.start, span.end, span.goal, states))
    return for_states, len(shots) - sum(one is not None for one in made.values())


def gold_pieces(gold: Gold | None, query: QueryResult | None) -> list[GoldPiece]:
    if gold is None:
        return []
    cited = query.evidence.trajectory_spans if query and query.evidence else ()
    return [
        GoldPiece(
            spans=_by_trajectory(piece[:_MOST_SPANS]),
            hit=any(
                one.trajectory_id == span.trajectory_id
                and one.start_state_index <= span.end_state_index
                and span.start_state_index <= one.end_state_index
                for one in piece
                for span in cited
            ),
        )
        for piece in gold.pieces[:_MOST_SPANS]
    ]


def _by_trajectory(spans: Sequence[GoldSpan]) -> list[str]:
    named: dict[str, list[str]] = {}
    for one in spans:
        start, end = one.start_state_index, one.end_state_index
        named.setdefault(one.trajectory_id, []).append(str(start) if start == end else f"{start} to {end}")
    return [
        f"{name} {'state' if len(told) == 1 and told[0].isdigit() else 'states'} {', '.join(told)}"
        for name, told in named.items()
    ]
