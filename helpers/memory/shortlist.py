"""Read the best ranked states: where each shows most of the words, and which are alike."""

from __future__ import annotations

from .excerpts import BREAK, Excerpt, excerpt
from .folding import own_text
from .haystack import Workspace, plain, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ranking import Ranked, Ranking

_STATE_BYTES = 1 << 18  # of a state that are looked at

NEARNESS = 0.2  # of the best score, for a state that shows all the telling terms in one place

# Shares of the best score that a state loses when one like it was chosen before.
NEIGHBOUR = 0.04  # the state before or after it
DOUBLE = 0.1  # a state of another trajectory that shows the same
_SLACK = 1e-6
_SAME = 0.8  # of the words of both: what counts as showing the same


class Candidate:
    """A possible answer: `state` is its number in the whole haystack, `excerpt` its most telling place."""

    def __init__(self, ranked: Ranked, ranking: Ranking, workspace: Workspace, nearness: float) -> None:
        self.ranked = ranked
        self.state = ranked.state
        self.trajectory = ranking.layout.owner[ranked.state]
        self.slug, self.index = ranking.layout.place(ranked.state)
        try:
            self.text = read_text(workspace.state_path(self.slug, self.index), _STATE_BYTES)
        except OSError:
            self.text = ""
        self._telling = ranking.telling(self.trajectory)
        self._workspace = workspace
        self.excerpt = excerpt(self.text, self._telling)
        self.score = ranked.score + nearness * self.excerpt.weight / (sum(self._telling.values()) or 1.0)
        self._words: frozenset[str] | None = None

    def __str__(self) -> str:
        return f"{self.slug}:{self.index}"

    def shown(self) -> Excerpt:
        """The excerpt without lines that the state before shows too, where it then tells as much."""
        before = self._before()
        if not any(plain(line.strip("…")) in before for line in self.excerpt.text.split(BREAK)):
            return self.excerpt
        own = excerpt(own_text(self.text, before), self._telling)
        return own if own.weight >= self.excerpt.weight - _SLACK else self.excerpt

    def _before(self) -> str:
        """The text of the state before."""
        try:
            path = self._workspace.state_path(self.slug, self.index - 1)
            return read_text(path, _STATE_BYTES) if self.index else ""
        except OSError:
            return ""

    def words(self) -> frozenset[str]:
        """What its observation shows."""
        if self._words is None:
            self._words = frozenset(self.text.partition("\n\n")[2].split())
        return self._words


def gather(
    ranked: list[Ranked], ranking: Ranking, workspace: Workspace, nearness: float = NEARNESS
) -> list[Candidate]:
    """Read these states (best first), and put those ahead that show the telling terms in one place."""
    if not ranked:
        return []
    most = nearness * max(ranked[0].score, 0.0)
    found = [Candidate(one, ranking, workspace, most) for one in ranked]
    return sorted(found, key=lambda one: -one.score)


def diverse(candidates: list[Candidate], most: int) -> list[Candidate]:
    """At most `most` of the candidates, best first, each less likely the more it is like one before it."""
    if not candidates:
        return []
    best = max(candidates[0].score, 0.0)
    scores = [one.score for one in candidates]
    compared = [0] * len(candidates)  # with how many of the chosen ones
    left = list(range(len(candidates)))
    chosen: list[Candidate] = []
    while left and len(chosen) < most:
        place = max(left, key=lambda one: (scores[one], -one))
        # Being compared only lowers a score, so it is enough to do it for whoever stands first.
        if compared[place] < len(chosen):
            for other in chosen[compared[place] :]:
                scores[place] -= best * _likeness(other, candidates[place])
            compared[place] = len(chosen)
            continue
        left.remove(place)
        chosen.append(candidates[place])
    return chosen


def _likeness(chosen: Candidate, other: Candidate) -> float:
    if chosen.trajectory == other.trajectory:
        return NEIGHBOUR if abs(chosen.state - other.state) == 1 else 0.0
    one, two = chosen.words(), other.words()
    if len(one) <= 3 or min(len(one), len(two)) <= _SAME * max(len(one), len(two)):
        return 0.0
    shared = len(one & two)
    return DOUBLE if shared > _SAME * (len(one) + len(two) - shared) else 0.0
