"""Which states have a term: from the view's index.sqlite, or where it cannot be used from the files.

States are numbered through the whole haystack, trajectory by trajectory in order of slug. A posting is
`state * 8 + field`; a trajectory's goal stands at its first state.
"""

from __future__ import annotations

import os
from array import array

from . import tokens
from .failure import NoIndexError
from .haystack import is_slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any, Protocol

    from .haystack import Workspace

    class Searchable(Protocol):
        """What can be ranked: where terms stand, how often, and how long each state's fields are (levels)."""

        layout: Layout

        def postings(self, term: str, /) -> list[int]: ...
        def frequency(self, term: str, /) -> int: ...
        def lengths(self, field: int, /) -> bytes: ...


FORMAT = 2
LEVELS_PER_DOUBLING = 8  # of a length n the index holds round(8 * log2(1 + n)), at most 255
FIELDS = ("goal", "url", "title", "action", "thought", "observation")
SCANNED_TERMS = 4  # without an index every term costs a reading of the whole haystack
GOAL, URL, TITLE, ACTION, THOUGHT, OBSERVATION = range(6)


_MATCH = "SELECT rowid FROM terms WHERE terms MATCH ?"
_COUNT = "SELECT count(*) FROM terms WHERE terms MATCH ?"


class Layout:
    """The numbering of states: `firsts` holds that of each trajectory's first, `count` how many there are."""

    def __init__(self, slugs: list[str], firsts: array[int], count: int, source: list[bool]) -> None:
        self.slugs = slugs
        self.firsts = firsts
        self.count = count
        self.owner = array("i", bytes(4 * count))  # the trajectory of each state
        self.sizes = [0] * len(slugs)  # how many states each trajectory has
        leads = bytearray(count)  # whether a state's action and thought led to the next one
        for trajectory, first in enumerate(firsts):
            end = firsts[trajectory + 1] if trajectory + 1 < len(firsts) else count
            self.sizes[trajectory] = end - first
            self.owner[first:end] = array("i", [trajectory]) * (end - first)
            if source[trajectory] and end > first:
                leads[first : end - 1] = b"\1" * (end - first - 1)
        self.leads = bytes(leads)

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
    """index.sqlite of a view, opened for reading only.

    Raises:
        NoIndexError: it cannot be used; the text says why.
    """

    exact = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._base = _open(path)
        self._postings: dict[str, list[int]] = {}
        self._common: dict[str, int] | None = None
        self._check_version()
        rows = self.ask("SELECT slug, first, convention FROM trajectories ORDER BY number")
        self._levels: dict[int, bytes] = dict(self.ask("SELECT field, levels FROM lengths"))
        self._check_layout(rows)
        self.layout = Layout(
            [row[0] for row in rows],
            array("i", (row[1] for row in rows)),
            self._states,
            [r[2] != "destination" for r in rows],
        )

    def postings(self, term: str) -> list[int]:
        """Where the term stands: `state * 8 + field`, ascending."""
        found = self._postings.get(term)
        if found is None:
            found = self._postings[term] = self._match(_MATCH, (_quoted(term),))
        return found

    def within(self, term: str, states: range) -> list[int]:
        """The postings of the term in these states."""
        bounds = (_quoted(term), states.start * 8, states.stop * 8 - 1)
        return self._match(f"{_MATCH} AND rowid BETWEEN ? AND ?", bounds)

    def together(self, terms: list[str]) -> list[int]:
        """The states with a field that has all of the terms, ascending."""
        rows = self._match(_MATCH, (" AND ".join(map(_quoted, terms)),))
        return list(dict.fromkeys(row >> 3 for row in rows if row & 7 != GOAL))

    def is_common(self, term: str) -> bool:
        """Whether the term has a thousand postings or more; takes no search."""
        return term in self._counts()

    def frequency(self, term: str) -> int:
        """How many postings the term has."""
        count = self._counts().get(term)
        if count is None:
            count = self.ask(_COUNT, (_quoted(term),))[0][0]
        if not isinstance(count, int):
            raise self.damaged("a count is none")
        return count

    def _counts(self) -> dict[str, int]:
        """The counts of common terms, which take longest to count."""
        if self._common is None:
            self._common = dict(self.ask("SELECT term, rows FROM common"))
        return self._common

    def lengths(self, field: int) -> bytes:
        """How many distinct terms each state has in a field, as levels (LEVELS_PER_DOUBLING)."""
        return self._levels[field]

    def _match(self, question: str, values: tuple[object, ...]) -> list[int]:
        rows: list[int] = [row[0] for row in self.ask(question, values)]
        if rows and not 0 <= min(rows) <= max(rows) < self._states * 8:
            raise self.damaged("it tells of states that it does not have")
        return rows

    def ask(self, question: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Rows of the tables; NoIndexError where there are none to have."""
        import sqlite3

        try:
            return self._base.execute(question, values).fetchall()
        except (sqlite3.Error, OverflowError, ValueError) as error:
            if "no such module" in str(error):
                raise NoIndexError("this Python's SQLite lacks FTS5") from None
            raise self.damaged(str(error)) from None

    def _check_version(self) -> None:
        rows = self.ask("SELECT version, tokens, states FROM format")
        if len(rows) != 1 or not isinstance(rows[0][2], int):
            raise self.damaged("it tells no version")
        version, rule, self._states = rows[0]
        if (version, rule) != (FORMAT, tokens.VERSION):
            wanted = f"{FORMAT}/{tokens.VERSION}"
            raise NoIndexError(f"{self._path} is of version {version}/{rule}, wanted is {wanted}")
        self.ask("SELECT rowid FROM terms WHERE terms MATCH 'a' LIMIT 1")

    def _check_layout(self, rows: list[Any]) -> None:
        """Raise NoIndexError where numbers that others compute with do not fit together."""
        levels = [self._levels.get(field) for field in range(len(FIELDS))]
        if not all(isinstance(one, bytes) and len(one) == self._states for one in levels):
            raise self.damaged("it does not tell the lengths of all states")
        slugs, firsts = [row[0] for row in rows], [row[1] for row in rows]
        if not all(isinstance(slug, str) and slug and is_slug(slug) for slug in slugs):
            raise self.damaged("it names no trajectories")
        if not all(isinstance(first, int) for first in firsts) or firsts[:1] != [0]:
            raise self.damaged("its states are not numbered")
        if any(one >= other for one, other in zip(firsts, [*firsts[1:], self._states])):
            raise self.damaged("its states are not numbered in order")

    def damaged(self, why: str) -> NoIndexError:
        """What to raise where the tables tell nonsense."""
        return NoIndexError(f"{self._path} is damaged ({why})")


class Scan:
    """The same from the files of the view, by rg or in Python: whole states instead of what is new in them.

    Slower by far, and it finds words as they are written only.
    """

    exact = False

    def __init__(self, workspace: Workspace) -> None:
        rows = workspace.rows()
        firsts, count = array("i"), 0
        for row in rows:
            firsts.append(count)
            count += row.states
        self._workspace = workspace
        self.layout = Layout(
            [row.slug for row in rows], firsts, count, [row.convention != "destination" for row in rows]
        )
        self._postings: dict[str, list[int]] = {}
        self._goals = [tokens.terms(row.goal + " " + row.start_url) for row in rows]

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

    def within(self, term: str, states: range) -> list[int]:
        """The postings of the term in these states."""
        return [row for row in self.postings(term) if row >> 3 in states]

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
    index = Index(os.path.join(workspace.haystack, "index.sqlite"))
    try:
        present = os.listdir(workspace.trajectories)
    except OSError as error:
        raise NoIndexError(f"the haystack has no trajectories ({error.strerror})") from None
    if not set(present) <= set(index.layout.slugs):
        raise NoIndexError("the index belongs to another haystack")
    return index


def _open(path: str) -> sqlite3.Connection:
    if not os.path.isfile(path):
        raise NoIndexError("the haystack has no index.sqlite")
    try:
        import sqlite3
    except ImportError:
        raise NoIndexError("this Python has no sqlite3") from None
    name = "".join(
        letter if letter.isalnum() or letter in "/._-" else _percent(letter)
        for letter in os.path.abspath(path)
    )
    try:
        return sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise NoIndexError(f"{path} cannot be opened ({error})") from None


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(letter))


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
