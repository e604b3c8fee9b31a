"""The trajectories that evidence may name: by id, by slug, or by a unique prefix of either."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

SHORTEST_PREFIX = 6


@dataclass(frozen=True, slots=True)
class Known:
    """One trajectory of the haystack."""

    id: str
    slug: str
    states: int


class KnownTrajectories:
    """Looks names up; an original id wins over another trajectory's slug."""

    def __init__(self, trajectories: Iterable[tuple[str, str, int]]) -> None:
        """`trajectories` are (original id, slug, number of states)."""
        known = [Known(*triple) for triple in trajectories]
        self._by_name = {one.slug: one for one in known} | {one.id: one for one in known}
        self._names = sorted({(name, one.id) for one in known for name in (one.id, one.slug)})

    def exact(self, name: str) -> Known | None:
        """The trajectory of this id or slug."""
        return self._by_name.get(name)

    def by_prefix(self, prefix: str) -> list[Known]:
        """All trajectories whose id or slug starts with `prefix`; none where it is too short to mean one."""
        if len(prefix) < SHORTEST_PREFIX:
            return []
        owners: dict[str, None] = {}
        for position in range(bisect_left(self._names, (prefix, "")), len(self._names)):
            name, owner = self._names[position]
            if not name.startswith(prefix):
                break
            owners[owner] = None
        return [self._by_name[owner] for owner in owners]
