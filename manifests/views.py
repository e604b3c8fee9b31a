"""Haystack views: one folder per distinct set of trajectories, made once, kept while there is room.

A view is a cache: everything in it comes from the store. `<root>/<name>.lock` belongs to the view
`<root>/<name>`: who uses the view holds the lock shared, who builds or removes it holds it alone, and its
time is that of the last use.
"""

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Final

import orjson

from .contact_sheets import SheetDrawing, draw_sheets
from .entry import Entry
from .errors import StoreError
from .files import FILE_MODE, FOLDER_MODE, remove_tree, reporting, try_lock
from .incoming import Incoming, sweep
from .index_format import INDEX_FOLDER, LAYOUT
from .store import Store
from .view_building import SUFFIXES, Kind, build_view
from .view_looks import file_bytes, is_replaced, is_sealed, written_to

CAP_BYTES: Final = 10 * 10**9
_FORMAT = 2  # of a view's files; a view of another format is built anew
_LOCK = ".lock"
_ALONE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOLCK, errno.EOPNOTSUPP})


class View:
    """A haystack on disk, pinned until closed. `entries` are its trajectories by slug.

    `manifest_seconds` is what making its manifests, tables and summaries took, whenever that was; None for a
    view of which that is not known. A `private` one shares no file with the store.
    """

    def __init__(
        self,
        path: Path,
        digest: str,
        entries: Mapping[str, Entry],
        lock: int | None,
        manifest_seconds: float | None = None,
        *,
        private: bool = False,
    ) -> None:
        self.path = path
        self.digest = digest
        self.entries = entries
        self.manifest_seconds = manifest_seconds
        self.private = private
        self._lock = lock

    def close(self) -> None:
        """Let go: from now on the view may be removed."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def distrust(self) -> None:
        """Have the view built anew before it is acquired again: somebody has written to it."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)

    def __enter__(self) -> "View":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Views:
    """The views of a store, in `root` (in the store by default), together at most `cap_bytes` of disk."""

    def __init__(
        self,
        store: Store,
        root: Path | None = None,
        cap_bytes: int = CAP_BYTES,
        *,
        drawing: SheetDrawing | None = None,
    ) -> None:
        """With a `drawing`, contact sheets are drawn before a view is built that would show them."""
        self.root = Path(os.path.abspath(root or store.root / "views"))  # noqa: PTH100
        self.incoming = self.root / "incoming"
        self.cap_bytes = cap_bytes
        self._store = store
        self._drawing = drawing

    def acquire(
        self,
        slugs: Iterable[str],
        *,
        summaries: bool = False,
        manifests: bool = True,
        private: bool = False,
    ) -> View:
        """The view of these trajectories, built where it is not there yet; close it to let it be removed.

        With `summaries` it has the two summaries as well; without `manifests` neither MANIFEST.md nor
        states.tsv; a `private` one shares no file with the store, for agents that could write to it.
        Each of these kinds has a folder of its own.
        Raises StoreError for an unknown slug, and where the view cannot be written.
        """
        entries = {slug: self._store.get(slug) for slug in sorted(set(slugs))}
        if not entries:
            raise StoreError("a view needs at least one trajectory")
        digest = view_digest(entries.values())
        kind = Kind(summaries=summaries, manifests=manifests, private=private)
        name = f"{digest}{kind.suffix}"
        with reporting(f"cannot make a view in {self.root}"):
            lock, built = self._pinned(name, list(entries.values()), kind)
        seconds = _read_record(self._lock_path(name)).get("manifest_seconds")
        known = seconds if isinstance(seconds, float) else None
        view = View(self.root / name, digest, entries, lock, known, private=private)
        if built:
            self.trim()
        return view

    def trim(self, cap_bytes: int | None = None) -> list[str]:
        """Remove the views used longest ago until the rest takes at most the cap; never one in use.

        Returns the names of the removed ones.
        """
        sizes = {name: self.size(name) for name in self.names()}
        total, cap, removed = sum(sizes.values()), self.cap_bytes if cap_bytes is None else cap_bytes, []
        for name in sorted(sizes, key=self._last_use):
            if total <= cap:
                break
            if self.remove(name):
                total -= sizes[name]
                removed.append(name)
        return removed

    def names(self) -> list[str]:
        """The views that are there."""
        if not self.root.is_dir():
            return []
        return sorted(path.name for path in self.root.iterdir() if _is_name(path.name))

    def size(self, name: str) -> int:
        """The bytes of disk that a view takes: its own files and copies, not what the store has anyway."""
        record = _read_record(self._lock_path(name))
        tree = record.get("tree", 0)
        own = file_bytes(self.root / name)
        index = self.root / name / INDEX_FOLDER
        if record.get("copied"):
            own += file_bytes(index)
        else:
            with suppress(FileNotFoundError):  # there is no index yet
                own += (index / LAYOUT).stat().st_size
        return own + (tree if isinstance(tree, int) else 0)

    def remove(self, name: str) -> bool:
        """Have a view gone; False where it is in use."""
        lock = self._open_lock(name)
        if lock is None:
            return False
        try:
            if not try_lock(lock, exclusive=True) or not self._still(lock, name):
                return False
            with Incoming(self.incoming) as incoming:
                aside = incoming.new_path()
                with suppress(FileNotFoundError):  # somebody else removed it just now
                    (self.root / name).rename(aside)
                self._lock_path(name).unlink(missing_ok=True)
                remove_tree(aside)
            return True
        finally:
            os.close(lock)

    def written_to(self, name: str) -> str:
        """What in a view is not as it was made, by its time: a path in the view, "" where all is.

        Of a view that is built anew before anybody sees it, nothing.
        """
        if _read_record(self._lock_path(name)).get("format") != _FORMAT:
            return ""
        return written_to(self.root / name)

    def _pinned(self, name: str, entries: list[Entry], kind: Kind) -> tuple[int | None, bool]:
        """A shared lock on the view, and whether it had to be built."""
        built = False
        while True:
            lock = self._open_lock(name)
            if lock is None:
                if self._complete(name, entries):
                    return None, built
                raise StoreError(f"{self.root} cannot be written; choose another folder for the views")
            fcntl.flock(lock, fcntl.LOCK_SH)
            if not self._still(lock, name):
                os.close(lock)
                continue
            if self._complete(name, entries):
                os.utime(lock)
                return lock, built
            # Locks cannot be raised in one step: whoever comes first builds, the others look again.
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                if self._still(lock, name) and not self._complete(name, entries):
                    self._build(name, entries, lock, kind)
                    built = True
            finally:
                os.close(lock)

    def _build(self, name: str, entries: list[Entry], lock: int, kind: Kind) -> None:
        sweep(self.incoming)
        with Incoming(self.incoming) as incoming:
            if (self.root / name).exists():
                (self.root / name).rename(incoming.new_path())
            if self._drawing:
                draw_sheets(self._store, entries, self._drawing)
            temporary = incoming.new_path()
            built = build_view(temporary, entries, kind)
            record = orjson.dumps({"format": _FORMAT, **asdict(built)})
            os.ftruncate(lock, 0)
            os.pwrite(lock, record, 0)
            temporary.rename(self.root / name)

    def _complete(self, name: str, entries: list[Entry]) -> bool:
        """Whether the view is there, in our format, as written, and shows the store's present files."""
        record = _read_record(self._lock_path(name))
        sizes = record.get("sizes")
        if record.get("format") != _FORMAT or not isinstance(sizes, dict):
            return False
        try:
            whole = all((self.root / name / file).stat().st_size == size for file, size in sizes.items())
            if not whole or not is_sealed(self.root / name, entries):
                return False
            return bool(record.get("copied")) or not any(
                is_replaced(self.root / name, one) for one in entries
            )
        except OSError:
            return False

    def _open_lock(self, name: str) -> int | None:
        """The lock file, None where nothing can be written here."""
        try:
            self.root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            return os.open(self._lock_path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            if error.errno not in _ALONE:
                raise
            return None

    def _still(self, lock: int, name: str) -> bool:
        """Whether the lock file we hold is the one that others would find."""
        try:
            return os.path.samestat(os.fstat(lock), self._lock_path(name).stat())
        except FileNotFoundError:
            return False

    def _lock_path(self, name: str) -> Path:
        return self.root / f"{name}{_LOCK}"

    def _last_use(self, name: str) -> int:
        try:
            return self._lock_path(name).stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def view_digest(entries: Iterable[Entry]) -> str:
    """The digest (hex) of a set of trajectories: sha256 over their sorted digests, one a line."""
    return hashlib.sha256("\n".join(sorted(entry.digest for entry in entries)).encode()).hexdigest()


def _is_name(name: str) -> bool:
    digest, suffix = name[:64], name[64:]
    return len(digest) == 64 and not digest.strip("0123456789abcdef") and suffix in SUFFIXES


def _read_record(path: Path) -> dict[str, object]:
    try:
        record = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
