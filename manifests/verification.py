"""Does the store still hold what was put into it? Every byte of it follows from the digests in its names."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .entry import ENTRY_FILE, Entry, entry_record, parsed_entry, read_entry
from .errors import StoreError
from .files import reporting
from .incoming import Incoming
from .index_format import INDEX_FOLDER
from .index_parts import PARTS_FOLDER, is_undamaged
from .materialise import Canonical, pictures, recorded, texts
from .slugs import is_slug
from .store import Store
from .views import Views
from .writer import discard

# What earlier versions wrote and nobody reads any more.
_OLDER = frozenset({"new_lines"})


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not what it was, or a view.

    `slug` is its trajectory's, "" for an image, a part of an index or a view.
    """

    path: Path
    problem: str
    slug: str


def verify(store: Store) -> list[Damage]:
    """Read the whole store, and list every file that is missing, changed or does not belong there."""
    with reporting(f"cannot read the store {store.root}"):
        return _Verification(store).run()


def verify_views(views: Views) -> list[Damage]:
    """List the views that somebody has written to, or taken something out of."""
    with reporting(f"cannot read the views in {views.root}"):
        found = [(views.root / name, views.written_to(name)) for name in views.names()]
    return [Damage(view, f"was written to: {place}", "") for view, place in found if place]


def repair(store: Store, views: Views, damages: list[Damage]) -> list[str]:
    """Take damaged files out, whole trajectories, and the views that show them.

    An import brings trajectories and images back, the next index its parts.

    Returns the slugs taken out. Raises StoreError where a view that shows one is in use.
    """
    slugs = sorted({damage.slug for damage in damages if damage.slug})
    shown = [f"trajectories/{slug}" for slug in slugs]
    shown += [f"{INDEX_FOLDER}/{damage.path.name}" for damage in damages if _is_part(damage.path, store)]
    with reporting(f"cannot repair the store {store.root}"), Incoming(store.incoming) as incoming:
        for name in views.names():
            shows = any((views.root / name / place).exists() for place in shown)
            if shows and not views.remove(name):
                raise StoreError(
                    f"the view {views.root / name} shows damaged files and is in use; end its user first"
                )
        for slug in slugs:
            discard(store.trajectories / slug, incoming)
            store.forget(slug)
        for damage in damages:
            if damage.path.parent != views.root:
                if not damage.slug:
                    discard(damage.path, incoming)
            elif damage.path.exists() and not views.remove(damage.path.name):
                raise StoreError(f"the view {damage.path} is in use; end its user first")
    return slugs


class _Verification:
    """One reading of a store. A file with many names is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hashes: dict[tuple[int, int], str] = {}
        self._small: dict[str, str] = {}  # agents' copies in images/ -> sha256, as trajectories tell

    def run(self) -> list[Damage]:
        found: list[Damage] = []
        for path in sorted(self._store.trajectories.iterdir()):
            found += _unless_gone(path, self._trajectory)
        for path in sorted(self._store.images.iterdir()):
            found += _unless_gone(path, self._image)
        parts = self._store.root / PARTS_FOLDER
        for path in sorted(parts.iterdir()) if parts.is_dir() else ():
            found += _unless_gone(path, _part)
        return found

    def _image(self, path: Path) -> Iterator[Damage]:
        expected = self._small.get(path.name) if ".agent." in path.name else path.name.partition(".")[0]
        if expected is not None and self._hash(path) != expected:
            yield Damage(path, "does not match its digest", "")

    def _trajectory(self, path: Path) -> Iterator[Damage]:
        slug = path.name
        if not is_slug(slug):
            yield Damage(path, "does not belong into a store", "")
            return
        try:
            entry = read_entry(path)
        except (OSError, ValueError, TypeError, KeyError):
            yield Damage(path / ENTRY_FILE, "is missing or damaged", slug)
            return
        kept = _kept(path, entry)
        if kept is None:
            yield Damage(path / "trajectory.json", "does not match its digest", slug)
            return
        expected = self._expected(kept, entry)
        present = _files(path) - _OLDER
        for name in sorted(expected.keys() | present):
            if name not in present:
                yield Damage(path / name, "is missing", slug)
            elif name not in expected:
                yield Damage(path / name, "does not belong into a store", slug)
            elif self._hash(path / name) != expected[name]:
                yield Damage(path / name, "was changed", slug)

    def _expected(self, kept: Canonical, entry: Entry) -> dict[str, str]:
        """Every file of the folder, by its path in it, with its sha256."""
        expected = {f"{place}/{name}".lstrip("/"): _sha256(content) for place, name, content in texts(kept)}
        for picture in pictures(entry.images):
            expected[f"screenshots/{picture.name}"] = picture.sha256
            if picture.small:
                self._small[picture.source] = picture.sha256
        record = entry_record(kept.trajectory, kept.digest, kept.convention, entry.images, entry.size)
        # An earlier version said the same in other words.
        same = parsed_entry(entry.path, record) == entry
        expected[ENTRY_FILE] = self._hash(entry.path / ENTRY_FILE) if same else _sha256(record)
        return expected

    def _hash(self, path: Path) -> str:
        """The sha256 of a file, "" for what is no regular file, or is none any more."""
        with suppress(FileNotFoundError):
            found = path.lstat()
            key = (found.st_dev, found.st_ino)
            if not stat.S_ISREG(found.st_mode):
                return ""
            if found.st_nlink == 1 or key not in self._hashes:
                with path.open("rb") as file:
                    self._hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
            return self._hashes[key]
        return ""


def _part(path: Path) -> Iterator[Damage]:
    if is_slug(path.name) and not is_undamaged(path):
        yield Damage(path, "does not match its checksum", "")


def _unless_gone(path: Path, judged: Callable[[Path], Iterator[Damage]]) -> list[Damage]:
    """The damages of a file or folder of the store: none of one that others remove meanwhile."""
    try:
        before = path.lstat()
        found = list(judged(path))
        return found if found and os.path.samestat(before, path.lstat()) else []
    except FileNotFoundError:
        return []


def _is_part(path: Path, store: Store) -> bool:
    return path.parent == store.root / PARTS_FOLDER


def _kept(path: Path, entry: Entry) -> Canonical | None:
    """The canonical trajectory, None where trajectory.json is not what the entry and the name tell."""
    try:
        kept = recorded((path / "trajectory.json").read_bytes(), entry.images)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return kept if (kept.digest, kept.slug) == (entry.digest, path.name) else None


def _files(path: Path) -> set[str]:
    found: set[str] = set()
    for folder, _, names in os.walk(path):
        place = os.path.relpath(folder, path)
        found.update(name if place == "." else f"{place}/{name}" for name in names)
    return found


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
