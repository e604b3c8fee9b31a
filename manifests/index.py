"""The full-text index of a view: `index.sqlite`, one SQLite FTS5 table, read inside the sandbox.

One row of the table `terms` per state and field, and one per trajectory for its goal; its number is
`state * 8 + field` (FIELDS), states being numbered through the view in the order of `trajectories`. A row
holds its distinct terms and no positions: which rows have a term is all that ranking needs, and excerpts
come from the state files. The text is tokenised beforehand, so that SQLite only splits at blanks and both
sides of the sandbox's wall use one rule, the Tokeniser; the composition root passes it in.

`lines` and `ranges` tell which states show a line, as line_tables describes.
"""

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import lru_cache, partial
from math import log2
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from .entry import Entry
from .errors import StoreError
from .files import FILE_MODE, FIXED_TIMES, reporting
from .incoming import Incoming
from .line_tables import LineTable, merged
from .term_lists import STATE_FIELDS, TermList, Tokeniser, is_cached, term_list
from .views import View

__all__ = ["FIELDS", "FORMAT", "INDEX_FILE", "Tokeniser", "build_index", "is_current"]

INDEX_FILE = "index.sqlite"
FORMAT: Final = 2  # of the tables; the helper refuses another
FIELDS = ("goal", *STATE_FIELDS)
ROWS_PER_STATE: Final = 8

_SCHEMA = """
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    CREATE TABLE format (version INTEGER, tokens TEXT, states INTEGER, bucket_bits INTEGER);
    CREATE TABLE trajectories (number INTEGER PRIMARY KEY, slug TEXT, first INTEGER, convention TEXT);
    CREATE TABLE lines (bucket INTEGER PRIMARY KEY, entries BLOB);
    CREATE TABLE ranges (trajectory INTEGER PRIMARY KEY, first INTEGER, listed TEXT);
    CREATE TABLE lengths (field INTEGER PRIMARY KEY, levels BLOB);
    CREATE TABLE common (term TEXT PRIMARY KEY, rows INTEGER) WITHOUT ROWID;
    CREATE VIRTUAL TABLE terms USING fts5(
        text, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_.-/:@'");
    INSERT INTO terms (terms, rank) VALUES ('hashsize', 268435456), ('automerge', 0);
"""
_MANY = 16  # trajectories to prepare; for fewer, starting processes costs more than it saves
_LEVELS_PER_DOUBLING = 8
_COMMON = 1000  # rows


def build_index(view: View, tokeniser: Tokeniser, *, processes: int = 1) -> Path:
    """Write the view's index where it is missing, damaged or of another version; its path.

    Reads nothing but cached term lists, which are made first for trajectories that have none (in `processes`
    processes). May run while others use the view; of several builders one does the work.

    Raises StoreError where the view cannot be written, its files are damaged, or SQLite lacks FTS5, and of
    it StoreFullError where there is no room.
    """
    path = view.path / INDEX_FILE
    with reporting(f"cannot make the index {path}"), closing(_Lock(view.path)):
        if is_current(view, tokeniser):
            return path
        entries = [view.entries[slug] for slug in sorted(view.entries)]
        with Incoming(view.path.parent / "incoming") as incoming:
            temporary = incoming.new_path()
            try:
                _write(temporary, entries, tokeniser, processes)
            except (sqlite3.Error, ValueError) as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(temporary)) from error
                raise StoreError(f"cannot make the index {path}: {error}") from error
            temporary.chmod(FILE_MODE)
            os.utime(temporary, ns=FIXED_TIMES)
            temporary.replace(path)
            os.utime(view.path, ns=FIXED_TIMES)
    return path


def is_current(view: View, tokeniser: Tokeniser) -> bool:
    """Whether the view has a whole index of this format and this tokeniser."""
    path = view.path / INDEX_FILE
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            found = base.execute("SELECT version, tokens, states FROM format").fetchall()
            pages, size = (
                base.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size")
            )
    except sqlite3.Error:
        return False
    states = sum(entry.states for entry in view.entries.values())
    return found == [(FORMAT, tokeniser.version, states)] and path.stat().st_size == pages * size


class _Lock:
    """The right to build this view's index; the kernel takes it back from a process that dies."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def close(self) -> None:
        os.close(self._fd)


def _write(path: Path, entries: Sequence[Entry], tokeniser: Tokeniser, processes: int) -> None:
    lengths = {field: bytearray() for field in range(len(FIELDS))}
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.executescript(_SCHEMA)
        base.execute("BEGIN")
        first, tables = 0, []
        for number, (entry, terms) in enumerate(_term_lists(entries, tokeniser, processes)):
            row = (number, entry.slug, first, entry.convention)
            base.execute("INSERT INTO trajectories VALUES (?, ?, ?, ?)", row)
            base.executemany("INSERT INTO terms (rowid, text) VALUES (?, ?)", _rows(first, terms, lengths))
            first += entry.states
            tables.append(terms.lines)
        bits = _write_lines(base, tables, [entry.states for entry in entries])
        base.execute("INSERT INTO terms (terms) VALUES ('optimize')")
        # Counting the rows of a common term takes a search longer than all else.
        base.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, terms, row)")
        base.execute("INSERT INTO common SELECT term, doc FROM temp.vocabulary WHERE doc >= ?", (_COMMON,))
        base.executemany(
            "INSERT INTO lengths VALUES (?, ?)", [(field, bytes(levels)) for field, levels in lengths.items()]
        )
        base.execute("INSERT INTO format VALUES (?, ?, ?, ?)", (FORMAT, tokeniser.version, first, bits))
        base.execute("COMMIT")


def _write_lines(base: sqlite3.Connection, tables: Sequence[LineTable], sizes: Sequence[int]) -> int:
    """Which states show which lines; how many bits a bucket's number has."""
    first = sum(sizes)
    for number, table in enumerate(tables):
        base.execute("INSERT INTO ranges VALUES (?, ?, ?)", (number, first, "\n".join(table.ranges)))
        first += len(table.ranges)
    bits, buckets = merged(tables, sizes)
    base.executemany("INSERT INTO lines VALUES (?, ?)", buckets)
    return bits


def _rows(first: int, terms: TermList, lengths: dict[int, bytearray]) -> Iterator[tuple[int, str]]:
    """The rows of one trajectory in ascending order; notes the level of length of each."""
    for place, state in enumerate(terms.states, first):
        for field, text in enumerate((terms.goal if place == first else "", *state)):
            lengths[field].append(_level(text.count(" ") + 1 if text else 0))
            if text:
                yield place * ROWS_PER_STATE + field, text


def _term_lists(
    entries: Sequence[Entry], tokeniser: Tokeniser, processes: int
) -> Iterator[tuple[Entry, TermList]]:
    missing = [entry for entry in entries if not is_cached(entry, tokeniser)]
    if processes > 1 and len(missing) >= _MANY:
        # Not forked: the caller may have threads.
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            for _ in pool.map(partial(_prepare, tokeniser=tokeniser), missing, chunksize=8):
                pass
    for entry in entries:
        yield entry, term_list(entry, tokeniser)


def _prepare(entry: Entry, tokeniser: Tokeniser) -> None:
    term_list(entry, tokeniser)


@lru_cache(maxsize=4096)
def _level(terms: int) -> int:
    """A number of terms in one byte, fine for short texts and coarse for long ones."""
    return min(255, round(_LEVELS_PER_DOUBLING * log2(1 + terms)))
