"""Grouping recordings by where they happened and by what was wanted, from nothing but start url and goal."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from .entry import Entry
from .tables import one_line

_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”|#?\d[\d.,:/-]*")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_DEPTHS = (6, 4, 3, 2, 1)  # words of a goal that a workflow's recordings share
_DIVISIBLE = 6  # recordings of a site that are worth dividing
_SMALLEST = 3  # recordings that make a workflow


@dataclass(frozen=True, slots=True)
class Workflow:
    """Recordings whose goals begin alike. `label` is how the first's does, "" for what is like nothing."""

    label: str
    entries: tuple[Entry, ...]


def site_of(entry: Entry) -> str:
    """The host a recording starts at; for what has none its scheme and path, or its domain."""
    try:
        parts = urlsplit(entry.start_url)
        if parts.hostname:
            return parts.netloc.rpartition("@")[2]
    except ValueError:  # such as an unbalanced bracket
        pass
    start = one_line(entry.start_url, 60)
    if start and start != "about:blank":
        return start
    return one_line(entry.domain, 60) or "no start url"


def by_site(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """The recordings by site, the most recorded first."""
    sites: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        sites[site_of(entry)].append(entry)
    return sorted(sites.items(), key=lambda site: (-len(site[1]), site[0]))


def workflows(entries: Sequence[Entry]) -> list[Workflow]:
    """The recordings of one site by workflow, the largest first, the unlike ones last."""
    if len(entries) < _DIVISIBLE:
        return [Workflow("", tuple(entries))]
    left = {entry.slug: (entry, _beginning(entry.goal)) for entry in entries}
    found: list[Workflow] = []
    for depth in _DEPTHS:
        groups: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
        for entry, words in left.values():
            if len(words) >= depth:
                groups[tuple(word for word, _ in words[:depth])].append(entry)
        for members in groups.values():
            if len(members) >= _SMALLEST:
                end = left[members[0].slug][1][depth - 1][1]
                found.append(Workflow(members[0].goal[:end], tuple(members)))
                for entry in members:
                    del left[entry.slug]
    found.sort(key=lambda workflow: (-len(workflow.entries), workflow.label))
    if left:
        found.append(Workflow("", tuple(entry for entry, _ in left.values())))
    return found


def by_goal(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """The recordings by goal, so that several runs of one task stand together; goals in order."""
    goals: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        goals[entry.goal].append(entry)
    return sorted(goals.items())


def _beginning(goal: str) -> list[tuple[str, int]]:
    """The first words of a goal, and where each ends; what is quoted or a number varies, and is none."""
    start = goal[:400].lower()
    plain = _VARYING.sub(lambda found: " " * len(found.group()), start)
    return [(found.group(), found.end()) for found in islice(_WORD.finditer(plain), _DEPTHS[0])]
