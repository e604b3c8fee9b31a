"""Which states a command names: by the path of a file, or by an id and an index as the helper takes them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from evals.traces.shell import SimpleCommand

State = tuple[str, int]
"""A trajectory's original id and a state's index, from 0."""

MOST_STATES = 2000
"""States that one command can name; a range can claim any length."""
_PATH = re.compile(
    r"(?<![A-Za-z0-9._-])([a-z0-9._-]{1,60}-[0-9a-f]{10})/(\d{1,6})\.(?:txt|agent\.png|png|jpe?g|webp|gif)\b"
)
_ADDRESS = re.compile(r"\b([a-z0-9._-]{1,60}-[0-9a-f]{10}):(\d{1,6})\b")
_END_OF_SLUG = re.compile(r"-[0-9a-f]{10}[/:]\d")
"""Found in a tenth of the time; most texts name no state."""
_RANGE = re.compile(r"(\d{1,6})(?:[:-](\d{1,6}))?")
_SHORTEST_PREFIX = 4
# Of each verb of the helper that opens states: how many words after the id are indexes or ranges.
_VERBS = {"state": 1, "span": 1, "diff": 2, "image": 1, "similar": 1}


class Names:
    """The trajectories of a haystack under all their names."""

    def __init__(self, by_slug: Mapping[str, str]) -> None:
        """`by_slug` maps each slug to the trajectory's original id."""
        self.by_slug = by_slug
        self._sorted = sorted([*by_slug.items(), *((name, name) for name in by_slug.values())])

    def resolve(self, told: str) -> str | None:
        """The original id of a trajectory named by id, slug or a beginning that only it has."""
        if told in self.by_slug:
            return self.by_slug[told]
        names = self._sorted
        place = bisect_left(names, (told,))
        if place < len(names) and names[place][0] == told:
            return names[place][1]
        if len(told) < _SHORTEST_PREFIX:
            return None
        found: set[str] = set()
        while place < len(names) and names[place][0].startswith(told) and len(found) < 2:
            found.add(names[place][1])
            place += 1
        return found.pop() if len(found) == 1 else None


def opened_states(commands: Iterable[SimpleCommand], arguments: str, names: Names) -> set[State]:
    """The states that a call asks to see: files of states, and states given to the helper."""
    found = set(_of_paths(arguments, names))
    for command in commands:
        for place in command.places:
            found.update(_of_paths(place, names))
        found.update(_of_paths(command.body, names))
        if command.program == "memory" and command.words:
            found.update(_of_helper(command.words, names))
    return found


def listed_states(text: str, names: Names) -> set[State]:
    """The states that a text lists: as `slug:7`, or by the path of a file."""
    found = set(_of_paths(text, names))
    for slug, index in _ADDRESS.findall(text) if _END_OF_SLUG.search(text) else ():
        if slug in names.by_slug:
            found.add((names.by_slug[slug], int(index)))
    return found


def _of_paths(text: str, names: Names) -> Iterator[State]:
    for slug, index in _PATH.findall(text) if _END_OF_SLUG.search(text) else ():
        if slug in names.by_slug:
            yield names.by_slug[slug], int(index)


def _of_helper(words: tuple[str, ...], names: Names) -> Iterator[State]:
    plain = [word for word in words[1:] if not word.startswith("-")]
    if words[0] not in _VERBS or not plain:
        return
    told, separator, index = plain[0].rpartition(":")
    given = [index, *plain[1:]] if separator else plain[1:]
    trajectory = names.resolve(told if separator else plain[0])
    if trajectory is None:
        return
    for one in given[: _VERBS[words[0]]]:
        if (match := _RANGE.fullmatch(one)) is None:
            continue
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        yield from ((trajectory, state) for state in range(first, min(last, first + MOST_STATES) + 1))
