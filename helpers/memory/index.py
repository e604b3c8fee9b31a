"""Which states have a term: from the haystack's index, or where it cannot be used from the files.

States are numbered through the whole haystack, trajectory by trajectory in order of slug. A posting is
`state * 8 + field`; a trajectory's goal stands at its first state.
"""

from __future__ import annotations

import os

from . import tokens
from .failure import NoIndexError
from .index_files import FOLDER, IndexFiles
from .index_part import split
from .keys import term_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from .haystack import Workspace
    from .index_part import SplitKey

    class Searchable(Protocol):
        """What can be ranked: where terms stand, how often, and how long each state's fields are (levels)."""

        layout: Layout

        def look_up(self, terms: Iterable[str], most: int | None = None, /) -> None: ...
        def postings(self, term: str, /) -> list[int]: ...
        def frequency(self, term: str, /) -> int: ...
        def lengths(self, field: int, /) -> bytes: ...


LEVELS_PER_DOUBLING = 8  # of a length n the index holds round(8 * log2(1 + n)), at most 255
SCANNED_TERMS = 4  # without an index every term costs a reading of the whole haystack
GOAL, URL, TITLE, ACTION, THOUGHT, OBSERVATION = range(6)


class Layout:
    """The numbering of states: `firsts` holds that of each trajectory's first, `count` how many there are."""

    def __init__(self, slugs: list[str], sizes: list[int], source: list[bool]) -> None:
        self.slugs = slugs
        self.sizes = sizes  # how many states each trajectory has
        self.firsts: list[int] = []
        self.owner: list[int] = []  # the trajectory of each state
        leads = bytearray()  # whether a state's action and thought led to the next one
        for trajectory, size in enumerate(sizes):
            self.firsts.append(len(self.owner))
            self.owner += [trajectory] * size
            leads += (b"\1" if source[trajectory] else b"\0") * (size - 1) + b"\0" * (size > 0)
        self.leads = bytes(leads)
        self.count = len(self.owner)

    def place(self, state: int) -> tuple[str, int]:
        """The slug and the number within the trajectory."""
        trajectory = self.owner[state]
        return self.slugs[trajectory], state - self.firsts[trajectory]

    def number(self, slug: str, index: int) -> int:
        """The number of a state in the whole haystack."""
        return self.firsts[self.slugs.index(slug)] + index

    def span(self, trajectory: int) -> range:
        """The numbers of a trajectory's states."""
        following = trajectory + 1
        return range(
            self.firsts[trajectory], self.firsts[following] if following < len(self.firsts) else self.count
        )


class Index:
    """The index of a haystack, opened for reading only.

    Raises:
        NoIndexError: it cannot be used; the text says why.
    """

    exact = True

    def __init__(self, folder: str) -> None:
        self._files = IndexFiles(folder)
        trajectories = self._files.trajectories
        self.layout = Layout(
            [one.slug for one in trajectories],
            [one.states for one in trajectories],
            [one.convention != "destination" for one in trajectories],
        )
        self._postings: dict[str, list[int]] = {}

    def look_up(self, terms: Iterable[str], most: int | None = None) -> None:
        """Bring in the postings of many terms at once, which takes little longer than those of one.

        Args:
            most: leaves out terms with more postings.
        """
        wanted = [term for term in terms if term not in self._postings]
        keys = dict(zip(wanted, term_keys(wanted)))
        if most is not None:
            keys = {term: key for term, key in keys.items() if self._files.common.get(key, 0) <= most}
        if not keys:
            return
        looked_up = split(keys.values())
        found: list[list[int]] = [[] for _ in keys]
        firsts = self.layout.firsts
        for trajectory, which, own in self._files.postings(range(len(firsts)), looked_up):
            base = firsts[trajectory] * 8
            found[which] += [base + one for one in own]
        self._postings.update(zip(keys, found))

    def postings(self, term: str) -> list[int]:
        """Where the term stands: `state * 8 + field`, ascending."""
        self.look_up([term])
        return self._postings[term]

    def within(self, term: str, trajectory: int) -> list[int]:
        """The postings of the term in the states of this trajectory."""
        base = self.layout.firsts[trajectory] * 8
        found = self._files.postings([trajectory], split(term_keys([term])))
        return [base + one for *_, own in found for one in own]

    def together(self, terms: list[str]) -> list[int]:
        """The states with a field that has all of the terms, ascending."""
        keys = split(term_keys(terms))
        shared: dict[int, list[set[int]]] = {}  # by trajectory, the postings of each term there
        for trajectory, _, own in self._files.postings(range(len(self.layout.firsts)), keys):
            shared.setdefault(trajectory, []).append(set(own))
        states: list[int] = []
        for trajectory, postings in shared.items():
            if len(postings) == len(keys):
                own_states = {one >> 3 for one in set.intersection(*postings) if one & 7 != GOAL}
                states += [self.layout.firsts[trajectory] + state for state in sorted(own_states)]
        return states

    def is_common(self, term: str) -> bool:
        """Whether the term has a thousand postings or more; takes no search."""
        (key,) = term_keys([term])
        return key in self._files.common

    def frequency(self, term: str) -> int:
        """How many postings the term has."""
        (key,) = term_keys([term])
        return self._files.common.get(key) or len(self.postings(term))

    def lengths(self, field: int) -> bytes:
        """How many distinct terms each state has in a field, as levels (LEVELS_PER_DOUBLING)."""
        return self._files.levels[field]

    def lines(self, keys: Sequence[SplitKey]) -> Iterator[tuple[int, int, list[int]]]:
        """The states that show lines with these keys: trajectory, place of the key, states in it."""
        return self._files.lines(range(len(self.layout.firsts)), keys)


class Scan:
    """The same from the files of the view, by rg or in Python: whole states instead of what is new in them.

    Slower by far, and it finds words as they are written only.
    """

    exact = False

    def __init__(self, workspace: Workspace) -> None:
        rows = workspace.rows()
        self._workspace = workspace
        self.layout = Layout(
            [row.slug for row in rows],
            [row.states for row in rows],
            [row.convention != "destination" for row in rows],
        )
        self._postings: dict[str, list[int]] = {}
        self._goals = [tokens.terms(row.goal + " " + row.start_url) for row in rows]

    def look_up(self, terms: Iterable[str], most: int | None = None) -> None:
        """Nothing: each term costs a reading of the whole haystack."""

    def postings(self, term: str) -> list[int]:
        """Where the term stands; a hit in a state file counts as one in its observation."""
        from .scanning import Pattern, states

        if term in self._postings:
            return self._postings[term]
        found = []
        numbers = {slug: number for number, slug in enumerate(self.layout.slugs)}
        for slug, indices in states(self._workspace, Pattern(term, fixed=True, any_case=True)).items():
            if slug in numbers:
                first = self.layout.firsts[numbers[slug]]
                found += [
                    (first + index) * 8 + OBSERVATION
                    for index in indices
                    if first + index < self.layout.count
                ]
        found += [self.layout.firsts[n] * 8 for n, goal in enumerate(self._goals) if term in goal]
        self._postings[term] = sorted(found)
        return self._postings[term]

    def within(self, term: str, trajectory: int) -> list[int]:
        """The postings of the term in the states of this trajectory."""
        states = self.layout.span(trajectory)
        return [one for one in self.postings(term) if one >> 3 in states]

    def frequency(self, term: str) -> int:
        """How many postings the term has."""
        return len(self.postings(term))

    def lengths(self, _field: int) -> bytes:
        """Unknown: all alike."""
        return bytes(self.layout.count)


def affordable(index: Index | Scan, weights: dict[str, float]) -> dict[str, float]:
    """The terms to look for: all, or without an index the few that say most."""
    if index.exact:
        return weights
    order = sorted(weights.items(), key=lambda item: (-item[1], -len(item[0]), item[0]))
    return dict(order[:SCANNED_TERMS])


def open_index(workspace: Workspace) -> tuple[Index | Scan, str]:
    """What can be searched, and "" or why it is not the index."""
    try:
        return usable_index(workspace), ""
    except NoIndexError as error:
        return Scan(workspace), error.text


def usable_index(workspace: Workspace) -> Index:
    """The index of the haystack.

    Raises:
        NoIndexError: it cannot be used, or belongs to another haystack.
    """
    if workspace.index_problem:
        raise NoIndexError(workspace.index_problem)
    index = Index(os.path.join(workspace.haystack, FOLDER))
    try:
        present = os.listdir(workspace.trajectories)
    except OSError as error:
        raise NoIndexError(f"the haystack has no trajectories ({error.strerror})") from None
    if not set(present) <= set(index.layout.slugs):
        raise NoIndexError("the index belongs to another haystack")
    return index
