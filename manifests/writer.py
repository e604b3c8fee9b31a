"""Adding trajectories of one data root to the store."""

import errno
import os
from pathlib import Path
from typing import NamedTuple

from .entry import is_intact, read_entry
from .errors import StoreError
from .files import remove_tree
from .images import ImageStore
from .incoming import Incoming
from .materialise import Canonical, canonical, write_folder
from .model import Convention, Trajectory
from .screenshots import ScreenshotFinder
from .succession import Succession


class Added(NamedTuple):
    """A trajectory that is now in the store; `reused` where it was there before."""

    slug: str
    states: int
    reused: bool
    folders: dict[str, int | None]  # of the data root, looked into for screenshots -> mtime_ns
    missing_screenshots: str  # a warning, "" if all are there
    warnings: list[str]


class Writer:
    """Adds trajectories one by one. Made by Store.writer."""

    def __init__(
        self, trajectories: Path, images: Path, incoming: Incoming, data_root: Path, succession: Succession
    ) -> None:
        self._trajectories = trajectories
        self._images = images
        self._incoming = incoming
        self._succession = succession
        self._store = ImageStore(images, incoming.new_path)
        self._finder = ScreenshotFinder(data_root)

    def add(self, trajectory: Trajectory, convention: Convention, where: str) -> Added:
        """Add a trajectory.

        Raises DataError where its screenshots leave the data root, OSError where writing fails.
        """
        shots = self._finder.collect(trajectory, self._store, where)
        kept = canonical(trajectory, convention, shots.images)
        reused = self._present(kept) or not self._write(kept)
        self._succession.restore(kept.slug)
        return Added(kept.slug, len(trajectory.states), reused, shots.folders, shots.missing, shots.warnings)

    def _present(self, kept: Canonical) -> bool:
        path = self._trajectories / kept.slug
        if not path.is_dir():
            return False
        if not is_intact(path):
            discard(path, self._incoming)
            return False
        if read_entry(path).digest != kept.digest:
            raise StoreError(
                f"{path} holds another trajectory with the same short hash; choose another --store"
            )
        return True

    def _write(self, kept: Canonical) -> bool:
        """Build the folder aside and let it appear whole; False where another process was first."""
        temporary = self._incoming.new_path()
        try:
            write_folder(temporary, kept, self._images)
            os.rename(temporary, self._trajectories / kept.slug)  # noqa: PTH104
        except OSError as error:
            remove_tree(temporary)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and self._present(kept):
                return False
            raise
        return True


def discard(path: Path, incoming: Incoming) -> None:
    """Take a damaged trajectory out of the store, in one step."""
    aside = incoming.new_path()
    try:
        os.rename(path, aside)  # noqa: PTH104
    except FileNotFoundError:
        return
    remove_tree(aside)
