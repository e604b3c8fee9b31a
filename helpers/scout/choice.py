"""Which states to hand in: how many the question is worth, how they end and join to spans."""

from __future__ import annotations

from ..memory.evidence import Span
from ..memory.shortlist import Candidate, diverse
from ..memory.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..memory.index import Layout
    from ..memory.ranking import Ranking

SMALL_BUDGET = 8  # states; a smaller one is used up
SHARE = 0.7  # of a larger one: more would rather hide the answer than hold it
LEAST = 0.25  # of the budget: so many are handed in whatever their score
WORTH = 0.5  # of the best score: what a further state needs
ENDS = 2  # best trajectories whose last state is handed in as well: it shows how they came out,
ENDED = 4  # where at least so many of their states are


class Choice:
    """What is handed in: `picked` best first, `ends` (last states, by haystack-wide number), the spans."""

    def __init__(self, picked: list[Candidate], ends: list[int], layout: Layout) -> None:
        self.picked = picked
        self.ends = ends
        self.spans = _spans([one.state for one in picked] + ends, layout)


def choose(task: Task, ranking: Ranking, budget: int) -> Choice:
    """The states to hand in, at most `budget`."""
    layout = ranking.layout
    candidates = task.best(ranking)
    if budget <= SMALL_BUDGET or not candidates:
        return Choice(diverse(candidates, budget), [], layout)
    count, few, least = round(budget * SHARE), round(budget * LEAST), candidates[0].score * WORTH
    worth = [one for place, one in enumerate(candidates) if place < few or one.score >= least]
    picked = diverse(worth, count)
    ends = _ends(picked, layout)
    return Choice(picked[: count - len(ends)], ends, layout)


def _ends(picked: list[Candidate], layout: Layout) -> list[int]:
    """The last states of the best trajectories, as far as they are not picked."""
    counts: dict[int, int] = {}
    for one in picked:
        counts[one.trajectory] = counts.get(one.trajectory, 0) + 1
    best = [trajectory for trajectory in list(counts)[:ENDS] if counts[trajectory] >= ENDED]
    states = {one.state for one in picked}
    return [end for end in (layout.span(trajectory)[-1] for trajectory in best) if end not in states]


def _spans(states: list[int], layout: Layout) -> list[Span]:
    """Neighbouring states joined, each span in the place of its best state."""
    chosen = set(states)
    spans: list[Span] = []
    done: set[int] = set()
    for state in states:
        if state in done:
            continue
        start = end = state
        while start - 1 in chosen and layout.owner[start - 1] == layout.owner[state]:
            start -= 1
        while end + 1 in chosen and layout.owner[end + 1] == layout.owner[state]:
            end += 1
        done.update(range(start, end + 1))
        slug, first = layout.place(start)
        spans.append(Span(slug, first, first + end - start))
    return spans
