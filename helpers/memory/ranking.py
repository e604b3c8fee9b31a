"""Order states by how well they answer weighted terms: the one ranking of search, candidates and scout.

score = trajectory + state, both sums over the terms:

- trajectory: a term counts by its rarity among trajectories, in full where the goal has it, by ELSEWHERE
  where some state does. This finds the recording that a question speaks of.
- state: a term counts by its rarity among the states of this trajectory and of all, less where the goal has
  it already (EXPLAINED: such words tell which recording is meant, not which of its states). It may stand in
  several fields, and in the action and thought that led here; the best place counts in full, each further
  one AGAIN as much as the one before. In a long field a term counts less.
"""

from __future__ import annotations

from math import log, sqrt

from .index import ACTION, GOAL, OBSERVATION, THOUGHT, TITLE, URL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index import Searchable

TRAJECTORY = 2.0
ELSEWHERE = 0.4
EXPLAINED = 0.3
LOCAL_RARITY = 0.75  # share of the rarity within the trajectory; the rest is that among all states
AGAIN = 0.4
FIRST_STATE = 0.05  # of the whole: a first state mostly repeats the goal

OWN = {OBSERVATION: 1.0, THOUGHT: 0.8, ACTION: 0.5, TITLE: 0.6, URL: 0.4}
LED_HERE = {ACTION: 0.6, THOUGHT: 0.3}
LENGTH_MATTERS = {OBSERVATION: 0.7, THOUGHT: 0.3, ACTION: 0.3}
SATURATION = 2.0


class Ranked:
    """A state's score from 0 (nothing) to about 3, and the terms it has (its own fields first)."""

    __slots__ = ("matched", "score", "state")

    def __init__(self, state: int, score: float, matched: list[str]) -> None:
        self.state = state
        self.score = score
        self.matched = matched


class Ranking:
    """All states that have any of the terms, scored.

    Args:
        weights: how much each term says, by term; terms that occur nowhere cost nothing.
        most: postings to look at, rarest terms first; None looks at all.
    """

    def __init__(self, index: Searchable, weights: dict[str, float], most: int | None = None) -> None:
        self.layout = index.layout
        self.scores: dict[int, float] = {}
        self.found: dict[str, int] = {}  # in how many states each term stands
        self.skipped: list[str] = []  # terms too common to be looked at
        self._masks: dict[str, dict[int, int]] = {}
        self._goals: dict[str, set[int]] = {}
        self._weights = weights
        self._lengths = _Lengths(index)
        self._collect(index, weights, most)
        self._score({term: weights[term] for term in self._masks})

    def best(self, most: int) -> list[Ranked]:
        """The best states, best first; ties in order of the haystack."""
        order = sorted(self.scores, key=lambda state: (-self.scores[state], state))
        return [self.ranked(state) for state in order[:most]]

    def ranked(self, state: int) -> Ranked:
        """One of the states in `scores`."""
        return Ranked(state, self.scores[state], self.matched(state))

    def telling(self) -> dict[str, float]:
        """The terms that stand somewhere, rare ones with more weight: for choosing an excerpt."""
        return {
            term: self._weights[term] / (1 + found) ** 0.25 for term, found in self.found.items() if found
        }

    def matched(self, state: int) -> list[str]:
        """The terms that stand in this state, rarest first."""
        terms = [term for term, masks in self._masks.items() if masks.get(state, 0)]
        return sorted(terms, key=lambda term: (self.found[term], term))

    def fields(self, term: str, state: int) -> int:
        """A bit per field (`1 << field`) in which the state has the term."""
        return self._masks.get(term, {}).get(state, 0)

    def in_goal(self, term: str, trajectory: int) -> bool:
        """Whether the trajectory's goal has the term."""
        return trajectory in self._goals.get(term, ())

    def _collect(self, index: Searchable, weights: dict[str, float], most: int | None) -> None:
        rows = {term: index.postings(term) for term in weights}
        left = most if most is not None else sum(map(len, rows.values()))
        owner = self.layout.owner
        for term in sorted(rows, key=lambda term: (len(rows[term]), term)):
            if len(rows[term]) > left and self._masks:
                self.skipped.append(term)
                continue
            left -= len(rows[term])
            masks: dict[int, int] = {}
            goals = set()
            for row in rows[term]:
                field = row & 7
                if field == GOAL:
                    goals.add(owner[row >> 3])
                else:
                    masks[row >> 3] = masks.get(row >> 3, 0) | 1 << field
            if masks or goals:
                self._masks[term], self._goals[term], self.found[term] = masks, goals, len(masks)

    def _score(self, weights: dict[str, float]) -> None:
        layout = self.layout
        states, trajectories = layout.count, len(layout.slugs)
        shares = [0.0] * trajectories
        scores = self.scores
        total = 0.0
        for term, weight in weights.items():
            masks, goals = self._masks[term], self._goals[term]
            counts: dict[int, int] = {}
            for state in masks:
                trajectory = layout.owner[state]
                counts[trajectory] = counts.get(trajectory, 0) + 1
            rarity = _rarity(states, len(masks))
            total += weight * rarity
            self._share(shares, weight, goals, counts)
            factors = {
                trajectory: weight
                * (LOCAL_RARITY * _rarity(len(layout.span(trajectory)), count) + (1 - LOCAL_RARITY) * rarity)
                * (EXPLAINED if trajectory in goals else 1.0)
                for trajectory, count in counts.items()
            }
            for state, value in self._values(masks):
                scores[state] = scores.get(state, 0.0) + value * factors[layout.owner[state]]
        if not total:
            return
        for state in scores:
            trajectory = layout.owner[state]
            first = FIRST_STATE if state == layout.firsts[trajectory] else 0.0
            scores[state] = (scores[state] + TRAJECTORY * shares[trajectory]) / total - first
        self.shares = [share / total for share in shares]

    def _share(self, shares: list[float], weight: float, goals: set[int], counts: dict[int, int]) -> None:
        """Add one term to what speaks for each trajectory."""
        among = _rarity(len(shares), len(goals | counts.keys()))
        for trajectory in goals:
            shares[trajectory] += weight * among
        for trajectory in counts:
            if trajectory not in goals:
                shares[trajectory] += weight * among * ELSEWHERE

    def _values(self, masks: dict[int, int]) -> list[tuple[int, float]]:
        """How much of the term each state has that shows it, or to which the state before leads with it."""
        led = self._led_to(masks)
        values = []
        for state in masks.keys() | led.keys():
            found = [
                self._lengths.discount(field, state) * weight
                for field, weight in OWN.items()
                if masks.get(state, 0) >> field & 1
            ]
            before = led.get(state, 0)
            if before:
                found += [weight for field, weight in LED_HERE.items() if before >> field & 1]
            found.sort(reverse=True)
            value, share = 0.0, 1.0
            for one in found:
                value += one * share
                share *= AGAIN
            values.append((state, value))
        return values

    def _led_to(self, masks: dict[int, int]) -> dict[int, int]:
        """For the states after those that have the term in action or thought: in which of the two."""
        layout = self.layout
        led = {}
        for state, mask in masks.items():
            fields = mask & (1 << ACTION | 1 << THOUGHT)
            following = state + 1
            if fields and following < layout.count:
                trajectory = layout.owner[state]
                if layout.owner[following] == trajectory and layout.source[trajectory]:
                    led[following] = fields
        return led


class _Lengths:
    """How much less a term counts in a longer field, by field and state."""

    def __init__(self, index: Searchable) -> None:
        self._counts = {field: index.lengths(field) for field in LENGTH_MATTERS}
        self._means = {field: sum(counts) / max(1, len(counts)) + 1 for field, counts in self._counts.items()}
        self._known: dict[int, float] = {}

    def discount(self, field: int, state: int) -> float:
        """1 for a field of average length, more for a shorter and less for a longer one."""
        if field not in self._counts:
            return 1.0
        key = state * 8 + field
        found = self._known.get(key)
        if found is None:
            matters = LENGTH_MATTERS[field]
            ratio = 1 - matters + matters * sqrt((self._counts[field][state] + 1) / self._means[field])
            found = self._known[key] = (SATURATION + 1) / (1 + SATURATION * ratio)
        return found


def _rarity(all_: int, having: int) -> float:
    return log(1 + (all_ - having + 0.5) / (having + 0.5))
