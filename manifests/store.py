"""The store: every imported trajectory as plain files, append-only, named by content.

Safe to read while others add: a folder is built in `incoming/` and appears whole, by one rename. Files are
not fsync-ed one by one (that would be most of an import's time), so after a power cut a folder may hold short
files. Receipts remember in which boot an import ran: what was written before a crash is measured before it is
trusted.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .convention import own_convention
from .entry import ENTRY_FILE, Entry, Screenshot, is_intact, read_entry
from .errors import StoreError, WrongStoreError
from .files import FOLDER_MODE, remove_tree, replace_file, reporting
from .incoming import Incoming
from .model import Convention, Trajectory
from .slugs import is_slug
from .succession import Succession
from .writer import Writer

FORMAT = 1

__all__ = ["FORMAT", "Entry", "Screenshot", "Store", "StoreError", "WrongStoreError"]


class Store:
    """A folder of trajectories. Make one with Store.open."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.trajectories = root / "trajectories"
        self.images = root / "images"
        self.receipts = root / "receipts"
        self.incoming = root / "incoming"
        self._succession = Succession(root / "superseded")
        self._entries: dict[str, Entry] = {}

    @classmethod
    def open(cls, root: Path) -> "Store":
        """The store in `root`, created where there is none; it may lie on a read-only disk.

        Raises StoreError where it has a newer format, or where it can be neither read nor created.
        """
        store = cls(Path(os.path.abspath(root)))  # noqa: PTH100 - keeps links that the user chose
        with reporting(f"cannot open the store {store.root}"):
            if not store._format_known():
                store._create()
        return store

    def entries(self) -> list[Entry]:
        """All trajectories but the superseded ones, by slug."""
        return [self.get(slug) for slug in self.slugs()]

    def slugs(self) -> list[str]:
        """The slugs of all trajectories but the superseded ones, in order."""
        with reporting(f"cannot read the store {self.root}"):
            superseded = self._succession.superseded()
            present = sorted(os.listdir(self.trajectories))  # noqa: PTH208
        return [slug for slug in present if is_slug(slug) and slug not in superseded]

    def superseded(self) -> frozenset[str]:
        """The slugs of trajectories that a newer one has taken the place of; `get` still knows them."""
        with reporting(f"cannot read the store {self.root}"):
            return self._succession.superseded()

    def supersede(self, slug: str, newer: str) -> None:
        """Let the trajectory `newer` take the place of `slug`. Adding `slug` again brings it back."""
        for one in (slug, newer):
            if not self.has(one):
                raise StoreError(f"the store {self.root} has no trajectory {one!r}")
        with reporting(f"cannot write to the store {self.root}"):
            self._succession.supersede(slug, newer)

    def get(self, slug: str) -> Entry:
        """The trajectory with this slug. Raises StoreError where it is unknown or damaged."""
        entry = self._entries.get(slug)
        if entry is None:
            if not is_slug(slug):
                raise StoreError(f"{slug!r} is not the slug of a trajectory")
            entry = self._read(slug)
            self._entries[slug] = entry
        return entry

    def has(self, slug: str) -> bool:
        """Whether the trajectory is there."""
        return is_slug(slug) and (self.trajectories / slug).is_dir()

    def forget(self, slug: str) -> None:
        """Read the trajectory anew when it is asked for next."""
        self._entries.pop(slug, None)

    def intact(self, slug: str) -> bool:
        """Whether the trajectory's files have the sizes they were written with."""
        return is_slug(slug) and is_intact(self.trajectories / slug)

    def add(
        self,
        trajectory: Trajectory,
        data_root: Path,
        *,
        convention: Convention | None = None,
        where: str | None = None,
    ) -> Entry:
        """Add one trajectory, with its screenshots from `data_root`; one that is there already is left alone.

        Without `convention` the trajectory's own ends decide. `where` names its source in messages.
        Raises DataError for a screenshot that leaves the data root, StoreError where nothing can be written.
        """
        told = own_convention(trajectory) if convention is None else convention
        with self.writer(data_root) as writer:
            return self.get(writer.add(trajectory, told, where or trajectory.id).slug)

    @contextmanager
    def writer(self, data_root: Path) -> Iterator[Writer]:
        """Something to add many trajectories of one data root with."""
        with reporting(f"cannot write to the store {self.root}"), Incoming(self.incoming) as incoming:
            yield Writer(self.trajectories, self.images, incoming, data_root, self._succession)

    def remove_superseded(self, slug: str) -> None:
        """Remove a trajectory that a newer one has taken the place of; nobody may be adding meanwhile."""
        if slug not in self.superseded():
            raise StoreError(f"{slug!r} is not superseded")
        self.forget(slug)
        aside = self.incoming / f"{slug}-{os.urandom(6).hex()}"  # without a lock, so anybody may remove it
        with reporting(f"cannot write to the store {self.root}"):
            # In one step: nobody who reads it takes what is left for a damaged one.
            with suppress(FileNotFoundError):
                (self.trajectories / slug).rename(aside)
            remove_tree(aside)
            # The record goes last: a trajectory is never in sight again only because its removal was cut off.
            self._succession.restore(slug)

    def _read(self, slug: str) -> Entry:
        path = self.trajectories / slug
        try:
            return read_entry(path)
        except FileNotFoundError:
            raise StoreError(
                f"the store {self.root} has no trajectory {slug!r}; import its data root"
            ) from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(
                f"{path / ENTRY_FILE} is damaged ({error}); mend: runbook store verify --repair, "
                "then import its recordings again"
            ) from error

    def _format_known(self) -> bool:
        path = self.root / "FORMAT"
        try:
            text = path.read_text("utf-8", "replace").strip()
        except FileNotFoundError:
            if self.root.is_dir() and any(self.root.iterdir()) and not self.trajectories.is_dir():
                raise WrongStoreError(
                    f"{self.root} is not empty and is no store; choose another --store"
                ) from None
            return False
        except NotADirectoryError:
            raise WrongStoreError(f"{self.root} is not a folder; choose another --store") from None
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise WrongStoreError(f"{path} does not hold a format number; choose another --store")
        if int(text) > FORMAT:
            raise WrongStoreError(
                f"the store {self.root} has format {text}, this version reads up to {FORMAT}; "
                "upgrade agent-runbook or choose another --store"
            )
        return True

    def _create(self) -> None:
        for folder in (self.root, self.trajectories, self.images, self.receipts, self.incoming):
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        # Last, so that a store without it is one whose creation was cut off, and is simply finished.
        replace_file(self.root / "FORMAT", f"{FORMAT}\n".encode())
