"""Which trajectories of a store a newer one has taken the place of.

A store only ever adds, so that who reads it is never disturbed. A recording that went on is added anew, and
a record `superseded/<slug>`, holding the newer one's slug, takes its old version out of sight; garbage
collection removes it.
"""

import os
from pathlib import Path

from .files import FOLDER_MODE, replace_file
from .slugs import is_slug


class Succession:
    """The records in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def superseded(self) -> frozenset[str]:
        """The slugs out of sight."""
        try:
            return frozenset(name for name in os.listdir(self._folder) if is_slug(name))  # noqa: PTH208
        except FileNotFoundError:
            return frozenset()

    def supersede(self, slug: str, newer: str) -> None:
        """Let `newer` take the place of `slug`."""
        self._folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        replace_file(self._folder / slug, f"{newer}\n".encode())

    def restore(self, slug: str) -> None:
        """Bring a trajectory back into sight, if it was out of it."""
        (self._folder / slug).unlink(missing_ok=True)
