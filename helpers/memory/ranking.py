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

from heapq import nlargest
from math import log, sqrt

from .counting import counted
from .index import ACTION, GOAL, LEVELS_PER_DOUBLING, OBSERVATION, THOUGHT, TITLE, URL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index import Searchable

TRAJECTORY = 2.0
ELSEWHERE = 0.4
EXPLAINED = 0.3
LOCAL_RARITY = 0.75  # share of the rarity within the trajectory; the rest is that among all states
AGAIN = 0.4
FIRST_STATE = 0.05  # of the whole: a first state mostly repeats the goal

OWN = {OBSERVATION: 1.0, THOUGHT: 0.8, ACTION: 0.5, TITLE: 0.8, URL: 0.6}
LED_HERE = {ACTION: 0.6, THOUGHT: 0.3}
LENGTH_MATTERS = {OBSERVATION: 0.7, THOUGHT: 0.3, ACTION: 0.3}
SATURATION = 2.0

# Where a state has a term, as bits: bit f for its own field f, and these for the step that led to it.
_LED = {ACTION: 1 << 6, THOUGHT: 1 << 7}
_OWN = sum(1 << field for field in OWN)
_OBSERVED = 1 << OBSERVATION  # by far the most frequent


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
        most: postings to look at, rarest terms first; None looks at all. At least one term is looked at.
    """

    def __init__(self, index: Searchable, weights: dict[str, float], most: int | None = None) -> None:
        self.layout = index.layout
        self.scores: dict[int, float] = {}
        self.found: dict[str, int] = {}  # in how many states each term stands
        self.skipped: list[str] = []  # terms too common to be looked at
        self._weights = weights
        self._masks: dict[str, dict[int, int]] = {}
        self._goals: dict[str, set[int]] = {}
        self._worth = _Worth(index)
        self._rarities: dict[tuple[int, int], float] = {}
        self._shares = [0.0] * len(self.layout.slugs)
        total = sum(self._add(term, index.postings(term)) for term in self._within(index, most))
        self._finish(total or 1.0)

    def best(self, most: int) -> list[Ranked]:
        """The best states, best first; ties in order of the haystack."""
        return [
            self.ranked(state) for state in nlargest(most, sorted(self.scores), key=self.scores.__getitem__)
        ]

    def ranked(self, state: int) -> Ranked:
        """One of the states in `scores`."""
        return Ranked(state, self.scores[state], self.matched(state))

    def telling(self, trajectory: int) -> dict[str, float]:
        """How much each term tells about a state of this trajectory: its weight times its rarity."""
        states = self.layout.count
        return {
            term: self._weights[term]
            * _rarity(states, found)
            * (EXPLAINED if self.in_goal(term, trajectory) else 1.0)
            for term, found in self.found.items()
        }

    def matched(self, state: int) -> list[str]:
        """The terms that stand in this state, rarest first."""
        terms = [term for term, masks in self._masks.items() if masks.get(state, 0) & _OWN]
        return sorted(terms, key=lambda term: (self.found[term], term))

    def fields(self, term: str, state: int) -> int:
        """A bit per field (`1 << field`) in which the state itself has the term."""
        return self._masks.get(term, {}).get(state, 0) & _OWN

    def in_goal(self, term: str, trajectory: int) -> bool:
        """Whether the trajectory's goal has the term."""
        return trajectory in self._goals.get(term, ())

    def stands(self, term: str) -> bool:
        """Whether any state or goal has the term."""
        return bool(self.found.get(term) or self._goals.get(term))

    def together(self, terms: list[str]) -> bool:
        """Whether one state with its goal has all of these terms, as far as they were looked at."""
        looked = [term for term in terms if term not in self.skipped]
        if not looked:
            return True
        goals = set.intersection(*(self._goals.get(term, set()) for term in looked))
        if goals:
            return True
        rarest = min(looked, key=lambda term: (self.found.get(term, 0), term))
        states = set(self._masks.get(rarest, ()))
        for trajectory in self._goals.get(rarest, ()):
            states.update(self.layout.span(trajectory))
        return any(all(self._has(term, state) for term in looked) for state in states)

    def _has(self, term: str, state: int) -> bool:
        return state in self._masks.get(term, ()) or self.in_goal(term, self.layout.owner[state])

    def _within(self, index: Searchable, most: int | None) -> list[str]:
        """The terms to look at; notes the others."""
        index.look_up(self._weights, most)
        if most is None:
            return list(self._weights)
        counts = {term: index.frequency(term) for term in self._weights}
        chosen: list[str] = []
        for term in sorted(counts, key=lambda term: (counts[term], term)):
            if counts[term] > most and any(counts[one] for one in chosen):
                self.skipped.append(term)
                self.found[term] = min(counts[term], self.layout.count)
            else:
                most -= counts[term]
                chosen.append(term)
        return chosen

    def _add(self, term: str, rows: list[int]) -> float:
        """Add what one term says; the most that it could say of a state."""
        if not rows:
            return 0.0
        layout, weight = self.layout, self._weights[term]
        masks, goals = _spread(rows, layout.owner, layout.leads)
        own = {row >> 3 for row in rows if row & 7 != GOAL}
        self._masks[term], self._goals[term], self.found[term] = masks, goals, len(own)
        counts = counted(map(layout.owner.__getitem__, own))
        self._share(weight, goals, counts)
        rarity = _rarity(layout.count, len(own))
        factors = {}
        for trajectory, count in counts.items():
            local = self._local_rarity(layout.sizes[trajectory], count)
            said = weight * (LOCAL_RARITY * local + (1 - LOCAL_RARITY) * rarity)
            factors[trajectory] = said * (EXPLAINED if trajectory in goals else 1.0)
        scores, owner = self.scores, layout.owner
        worth, observed = self._worth.of, self._worth.observed
        for state, mask in masks.items():
            value = observed[state] if mask == _OBSERVED else worth(mask, state)
            scores[state] = scores.get(state, 0.0) + value * factors[owner[state]]
        return weight * rarity

    def _local_rarity(self, states: int, having: int) -> float:
        known = self._rarities.get((states, having))
        if known is None:
            known = self._rarities[states, having] = _rarity(states, having)
        return known

    def _share(self, weight: float, goals: set[int], counts: dict[int, int]) -> None:
        """Add one term to what speaks for each trajectory."""
        said = weight * _rarity(len(self._shares), len(goals | counts.keys()))
        for trajectory in goals:
            self._shares[trajectory] += said
        for trajectory in counts:
            if trajectory not in goals:
                self._shares[trajectory] += said * ELSEWHERE

    def _finish(self, total: float) -> None:
        """Bring in the trajectories, and make scores of different questions comparable."""
        scores, owner, firsts = self.scores, self.layout.owner, set(self.layout.firsts)
        for state in scores:
            first = FIRST_STATE if state in firsts else 0.0
            scores[state] = (scores[state] + TRAJECTORY * self._shares[owner[state]]) / total - first


class _Worth:
    """How much a state has of a term that stands in certain of its fields, given the fields' lengths."""

    def __init__(self, index: Searchable) -> None:
        self._levels = [index.lengths(field) for field in (OBSERVATION, THOUGHT, ACTION)]
        self._discounts = {
            field: _discounts(levels, LENGTH_MATTERS[field])
            for field, levels in zip((OBSERVATION, THOUGHT, ACTION), self._levels)
        }
        self._known: dict[int, float] = {}
        by_level = [OWN[OBSERVATION] * discount for discount in self._discounts[OBSERVATION]]
        # By state: the same as `of` for a term that stands in the observation alone.
        self.observed = list(map(by_level.__getitem__, self._levels[0]))

    def of(self, mask: int, state: int) -> float:
        """The best field in full, each further one AGAIN as much as the one before."""
        observation, thought, action = self._levels
        key = mask | observation[state] << 8 | thought[state] << 16 | action[state] << 24
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._sum(mask, state)
        return found

    def _sum(self, mask: int, state: int) -> float:
        levels = dict(zip((OBSERVATION, THOUGHT, ACTION), self._levels))
        parts = [weight for field, weight in LED_HERE.items() if mask & _LED[field]]
        for field, weight in OWN.items():
            if mask >> field & 1:
                parts.append(
                    weight * (self._discounts[field][levels[field][state]] if field in levels else 1.0)
                )
        value, share = 0.0, 1.0
        for part in sorted(parts, reverse=True):
            value += part * share
            share *= AGAIN
        return value


def _spread(rows: list[int], owner: list[int], leads: bytes) -> tuple[dict[int, int], set[int]]:
    """Where a term counts: bits by state, its own fields and the step before; and the goals that have it."""
    masks: dict[int, int] = {}
    goals = set()
    for row in rows:
        state, field = row >> 3, row & 7
        if field == GOAL:
            goals.add(owner[state])
            continue
        masks[state] = masks.get(state, 0) | 1 << field
        if field in _LED and leads[state]:
            masks[state + 1] = masks.get(state + 1, 0) | _LED[field]
    return masks, goals


def _discounts(levels: bytes, matters: float) -> list[float]:
    """By level of length: 1 for an average one, more for a shorter and less for a longer one."""
    lengths = [2 ** (level / LEVELS_PER_DOUBLING) for level in range(256)]
    mean = sum(count * lengths[level] for level, count in counted(levels).items()) / max(1, len(levels))
    ratios = [1 - matters + matters * sqrt(length / max(1, mean)) for length in lengths]
    return [(SATURATION + 1) / (1 + SATURATION * ratio) for ratio in ratios]


def _rarity(all_: int, having: int) -> float:
    return log(1 + (all_ - having + 0.5) / (having + 0.5))
