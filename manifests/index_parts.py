"""The part of the search index that one trajectory is: made once, kept beside the store's trajectories.

It holds what is *new* in a state: a line or thought that an earlier state showed is left out, so that menus
that come back on every page count once; and a table of all lines. Every view over the trajectory links to
it. Its form is told in index_format; one that was damaged is made again.
"""

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from pathlib import Path
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .entry import Entry
from .files import FOLDER_MODE, write_new
from .index_format import (
    CHECKSUM,
    COUNTS_SIZE,
    FIELDS,
    LEVELS_PER_DOUBLING,
    NUMBERS,
    POSTINGS_PER_STATE,
    SMALL_NUMBERS,
    Counts,
    part_counts,
    part_head,
    part_title,
)
from .line_tables import Keys, LineTable, line_table
from .new_lines import distinct_lines, new_lines
from .part_terms import PartTerms
from .state_files import StateFile, parse_state_file

PARTS_FOLDER = "index"  # of the store

_WRITING_SECONDS: Final = 600
_TITLE = re.compile(r"\s*(?:\[\w+\] )?RootWebArea '(.*?)'(?:,|$)")

KeyBits: TypeAlias = NDArray[np.unsignedinteger[Any]]
Levels: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """How text becomes terms, and terms and lines their keys: the rule's version, and functions of a module.

    Keys are of 48 bits, one for each text, in order.
    """

    version: str
    terms: Callable[[str], Iterable[str]]
    term_keys: Callable[[Iterable[str]], Iterable[int]]
    line_keys: Callable[[Iterable[str]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class IndexPart:
    """A part as it lies in the store, or would: its content, what it holds, and its file if it has one."""

    counts: Counts
    content: bytes
    path: Path | None
    head: int
    """Bytes of the content before the terms."""

    def terms(self) -> PartTerms:
        """Its terms."""
        return PartTerms(self.content, self.head, self.counts)

    def levels(self) -> Levels:
        """How many terms its states have in each field, without a copy.

        A row for each field (FIELDS), a column for each state: of n distinct terms
        round(LEVELS_PER_DOUBLING * log2(1 + n)), at most 255.
        """
        states = self.counts.states
        size = len(FIELDS) * states
        levels = np.frombuffer(self.content, np.uint8, size, len(self.content) - CHECKSUM - size)
        return levels.reshape(len(FIELDS), states)


def index_part(entry: Entry, tokeniser: Tokeniser) -> IndexPart:
    """The part of a trajectory: from the store, else made and (where the store can be written) kept there.

    Raises OSError or ValueError where the trajectory's files are damaged.
    """
    path, title = _path(entry), part_title(tokeniser.version, entry.slug)
    with suppress(OSError):
        content = path.read_bytes()
        if counts := _checked(content, title):
            return IndexPart(counts, content, path, len(title) + COUNTS_SIZE)
    counts, pieces = _make(entry, tokeniser)
    head = part_head(tokeniser.version, entry.slug, counts)
    content = b"".join((head, *pieces))
    content += checksum(content)
    return IndexPart(counts, content, path if _write(path, content) else None, len(head))


def has_part(entry: Entry, tokeniser: Tokeniser) -> bool:
    """Whether index_part would only read, unless the part is damaged."""
    title = part_title(tokeniser.version, entry.slug)
    try:
        with _path(entry).open("rb") as file:
            return file.read(len(title)) == title
    except OSError:
        return False


def keeps_parts(store: Path) -> bool:
    """Whether parts that are made can be kept in the store in this folder."""
    folder = store / PARTS_FOLDER
    return os.access(folder if folder.exists() else store, os.W_OK | os.X_OK)


def is_undamaged(path: Path) -> bool:
    """Whether a part is as it was written, of whatever format it is."""
    if path.is_symlink() or not path.is_file():
        return False
    content = path.read_bytes()
    return checksum(content[:-CHECKSUM]) == content[-CHECKSUM:]


def abandoned_parts(folder: Path) -> list[Path]:
    """What killed writers left in a folder of parts: temporary files older than any writing takes."""
    latest = time.time() - _WRITING_SECONDS
    found = []
    for path in folder.glob(".*"):
        with suppress(FileNotFoundError):  # its writer ended just now
            if path.lstat().st_ctime < latest:
                found.append(path)
    return found


def checksum(content: bytes) -> bytes:
    """What stands at the end of each file of the index."""
    return crc32(content).to_bytes(CHECKSUM, "little")


def _path(entry: Entry) -> Path:
    return entry.path.parent.parent / PARTS_FOLDER / entry.slug


def _checked(content: bytes, title: bytes) -> Counts | None:
    """What a part holds; None where it is damaged or of another format or rule."""
    head = len(title) + COUNTS_SIZE
    if not content.startswith(title) or checksum(content[:-CHECKSUM]) != content[-CHECKSUM:]:
        return None
    counts = part_counts(content, len(title)) if len(content) >= head else None
    return counts if counts and len(content) == counts.part_bytes(head) else None


def _make(entry: Entry, tokeniser: Tokeniser) -> tuple[Counts, Iterable[bytes]]:
    read = [_read_state(entry.state_path(index)) for index in range(entry.states)]
    observed = [distinct_lines(state.observation) for _, state in read]
    lines = line_table(
        [
            _line_keys(distinct_lines(header) | shown, tokeniser)
            for (header, _), shown in zip(read, observed, strict=True)
        ]
    )
    terms = _Collected(entry.states, tokeniser)
    terms.add(0, "goal", f"{entry.goal}\n{entry.start_url}")
    thought = ""
    for number, ((_, state), new) in enumerate(zip(read, new_lines(observed), strict=True)):
        title = _TITLE.match(state.observation)
        terms.add(number, "url", state.url)
        terms.add(number, "title", title[1] if title else "")
        terms.add(number, "action", state.action)
        terms.add(number, "thought", "" if state.thought == thought else state.thought)
        terms.add(number, "observation", new)
        thought = state.thought or thought
    return _packed(terms.sorted(), terms.levels, lines)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Terms as a part has them: the postings of term `i` are `postings[starts[i] : starts[i + 1]]`."""

    keys: Keys
    starts: NDArray[np.int64]
    postings: NDArray[np.uint32]


class _Collected:
    """Terms as they are found, field by field."""

    def __init__(self, states: int, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._keys: list[int] = []
        self._postings: list[int] = []
        self.levels = np.zeros((len(FIELDS), states), np.uint8)

    def add(self, state: int, name: str, text: str) -> None:
        """The terms of a state's field."""
        field = FIELDS.index(name)
        found = set(self._tokeniser.terms(text))
        self.levels[field, state] = _level(len(found))
        self._keys.extend(self._tokeniser.term_keys(found))
        self._postings.extend([state * POSTINGS_PER_STATE + field] * len(found))

    def sorted(self) -> "_Sorted":
        """All of them."""
        keys, postings = np.array(self._keys, np.uint64), np.array(self._postings, NUMBERS)
        order = np.lexsort((postings, keys))
        distinct, starts = np.unique(keys[order], return_index=True)
        return _Sorted(distinct, np.append(starts, len(keys)), postings[order])


def _packed(terms: _Sorted, levels: Levels, lines: LineTable) -> tuple[Counts, Iterable[bytes]]:
    """What a part holds, and it all between head and checksum."""
    ranges = "\n".join(lines.ranges).encode()
    counts = Counts(levels.shape[1], len(terms.keys), len(terms.postings), len(lines.keys), len(ranges))
    columns = (
        _first_bits(terms.keys),
        (terms.starts + np.arange(len(terms.starts))).astype(counts.start_type()),
        np.insert(terms.postings, terms.starts[:-1], _last_bits(terms.keys)).astype(counts.entry_type()),
        _first_bits(lines.keys),
        lines.places.astype(counts.place_type()),
        _last_bits(lines.keys),
    )
    return counts, (*(one.tobytes() for one in columns), ranges, levels.tobytes())


def _first_bits(keys: Keys) -> KeyBits:
    return (keys >> np.uint64(16)).astype(NUMBERS)


def _last_bits(keys: Keys) -> KeyBits:
    return (keys & np.uint64(0xFFFF)).astype(SMALL_NUMBERS)


def _read_state(path: Path) -> tuple[str, StateFile]:
    """The text of a state's header, and all of its file."""
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        state = parse_state_file(text)
    except KeyError:
        raise ValueError(f"{path} is damaged; mend: runbook store verify --repair") from None
    return text[: len(text) - len(state.observation)], state


def _line_keys(lines: dict[str, None], tokeniser: Tokeniser) -> Keys:
    lines.pop("", None)
    return np.fromiter(tokeniser.line_keys(lines), np.uint64, len(lines))


@lru_cache(maxsize=4096)
def _level(terms: int) -> int:
    """A number of terms in one byte, fine for short texts and coarse for long ones."""
    return min(255, round(LEVELS_PER_DOUBLING * log2(1 + terms)))


def _write(path: Path, content: bytes) -> bool:
    """Keep a part; False where it cannot be: such a store is still searched, only prepared anew each time."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")  # see abandoned_parts
    try:
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        write_new(os.fspath(temporary), content)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        return False
    return True
