"""The full-text index of a view: `.index/`, a part for each trajectory and one layout, read in the sandbox.

The parts are links to what the store keeps (index_parts); only the layout is the view's own. So a view over
known trajectories has its index in a fraction of a second, and its disk is that of some counts. A term's
postings, `state * 8 + field`, are all that ranking needs; excerpts come from the state files. Both sides of
the sandbox's wall use one rule for terms and keys, the Tokeniser; the composition root passes it in.
"""

import fcntl
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from .entry import Entry
from .errors import StoreError
from .files import EPOCH_NS, FIXED_TIMES, make_folder, reporting, seal_folder, write_new
from .incoming import Incoming
from .index_format import COUNTS_SIZE, INDEX_FOLDER, LAYOUT, Counts, part_title
from .index_layout import Gathered, read_layout
from .index_parts import Tokeniser, has_part, index_part, keeps_parts
from .linking import Copier, Linker
from .views import View

__all__ = ["Tokeniser", "build_index", "is_current"]

_MANY = 16  # trajectories to prepare; for fewer, starting processes costs more than it saves


def build_index(view: View, tokeniser: Tokeniser, *, processes: int = 1) -> Path:
    """Make the view's index where it is missing, damaged or of another version; its folder.

    Parts that the store does not have yet are made first (in `processes` processes). May run while others use
    the view; of several builders one does the work.

    Raises StoreError where the view cannot be written or its files are damaged, and of it StoreFullError
    where there is no room.
    """
    folder = view.path / INDEX_FOLDER
    with reporting(f"cannot make the index {folder}"), closing(_Lock(view.path)):
        if is_current(view, tokeniser):
            with suppress(OSError):  # the index of a view that cannot be written is as good
                _seal(view.path)
            return folder
        entries = [view.entries[slug] for slug in sorted(view.entries)]
        with Incoming(view.path.parent / "incoming") as incoming:
            temporary = incoming.new_path()
            try:
                _prepare_missing(entries, tokeniser, processes)
                _fill(temporary, entries, tokeniser, Copier() if view.private else Linker())
            except ValueError as error:
                raise StoreError(f"cannot make the index {folder}: {error}") from error
            if folder.exists():
                folder.rename(incoming.new_path())
            temporary.rename(folder)
            _seal(view.path)
    return folder


def is_current(view: View, tokeniser: Tokeniser) -> bool:
    """Whether the view has a whole index of this format and this tokeniser."""
    folder = view.path / INDEX_FOLDER
    try:
        parts = read_layout((folder / LAYOUT).read_bytes(), tokeniser.version).parts
        if [slug for slug, _ in parts] != sorted(view.entries):
            return False
        return all(_is_whole(folder, slug, counts, tokeniser.version) for slug, counts in parts)
    except (OSError, ValueError):
        return False


def _is_whole(folder: Path, slug: str, counts: Counts, rule: str) -> bool:
    # Not pathlib: a view that is there is found in a few milliseconds, five hundred parts included.
    size = os.stat(f"{folder}/{slug}").st_size  # noqa: PTH116
    return size == counts.part_bytes(len(part_title(rule, slug)) + COUNTS_SIZE)


class _Lock:
    """The right to build this view's index; the kernel takes it back from a process that dies."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def close(self) -> None:
        os.close(self._fd)


def _fill(folder: Path, entries: Sequence[Entry], tokeniser: Tokeniser, linker: Linker) -> None:
    top = make_folder(os.fspath(folder))
    gathered = Gathered()
    for entry in entries:
        part = index_part(entry, tokeniser)
        if not (part.path and _linked(part.path, f"{folder}/{entry.slug}", linker)):
            write_new(entry.slug, part.content, top)
        gathered.add(entry.slug, entry.convention, part)
    write_new(LAYOUT, gathered.to_bytes(tokeniser.version), top)
    seal_folder(top)


def _linked(part: Path, target: str, linker: Linker) -> bool:
    """Give a part its name in the view; False where somebody has removed it since it was read."""
    try:
        linker.link(os.fspath(part), target)
    except FileNotFoundError:
        return False
    return True


def _seal(view: Path) -> None:
    """Give a view its time back: an index changes it by appearing, and its builder may be killed then."""
    if view.stat().st_mtime_ns != EPOCH_NS:
        os.utime(view, ns=FIXED_TIMES)


def _prepare_missing(entries: Sequence[Entry], tokeniser: Tokeniser, processes: int) -> None:
    missing = [entry for entry in entries if not has_part(entry, tokeniser)]
    # What other processes make comes here through the store: one that keeps nothing has all made twice.
    if processes > 1 and len(missing) >= _MANY and keeps_parts(missing[0].path.parent.parent):
        # Not forked: the caller may have threads.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            for _ in pool.map(partial(_prepare, tokeniser=tokeniser), missing, chunksize=8):
                pass


def _prepare(entry: Entry, tokeniser: Tokeniser) -> None:
    index_part(entry, tokeniser)
