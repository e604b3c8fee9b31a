"""The trajectories of a store that are in sight, by id: a session has one at a time."""

from collections import defaultdict

from ..errors import StoreError
from ..slugs import HASH, slug_of
from ..store import Store


class Versions:
    """Knows the slugs in sight as they were when it was made, and what it changed itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._slugs: defaultdict[str, set[str]] = defaultdict(set)  # readable part -> slugs
        for slug in store.slugs():
            self._slugs[_readable(slug)].add(slug)

    def current(self, trajectory_id: str) -> list[str]:
        """The slugs in sight of an id."""
        near = self._slugs.get(_readable(slug_of(trajectory_id, "0" * HASH)), set())
        return sorted(slug for slug in near if self._id(slug) == trajectory_id)

    def add(self, trajectory_id: str, slug: str) -> None:
        """Note that `slug` was added: it takes the place of what else there is of its id."""
        for older in self.current(trajectory_id):
            self.replace(older, slug)
        self._slugs[_readable(slug)].add(slug)

    def replace(self, slug: str, newer: str) -> None:
        """Let `newer` take the place of `slug`, if that is another one and in sight."""
        if slug != newer and slug in self._slugs[_readable(slug)]:
            self._store.supersede(slug, newer)
            self._slugs[_readable(slug)].discard(slug)

    def _id(self, slug: str) -> str:
        try:
            return self._store.get(slug).id
        except StoreError:  # damaged, which is for `store verify` to say
            return ""


def _readable(slug: str) -> str:
    return slug[: -HASH - 1]
