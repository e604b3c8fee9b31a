"""The search terms and lines of one trajectory, made once and cached beside the store's trajectories.

A cached list `<store>/terms/<slug>` begins with text: the versions of this file and of the rule, the terms of
goal and start address, then one line per state with its terms by field, tab-separated, in the order of
STATE_FIELDS. It holds what is *new* in a state: a line or thought that an earlier state showed is left out,
so that menus that come back on every page count once. After a NUL follows the table of all lines, and last a
checksum: a list that was damaged is made again.
"""

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from .entry import Entry
from .files import FOLDER_MODE, write_new
from .line_tables import Keys, LineTable, line_table
from .new_lines import distinct_lines, new_lines
from .state_files import StateFile, parse_state_file

TERMS_FOLDER = "terms"  # of the store
STATE_FIELDS = ("url", "title", "action", "thought", "observation")

_FORMAT: Final = 3  # of a cached list
_CHECKSUM: Final = 4  # bytes
_WRITING_SECONDS: Final = 600
_TITLE = re.compile(r"\s*(?:\[\w+\] )?RootWebArea '(.*?)'(?:,|$)")


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """How text becomes terms and a line its key: the rule's version, and functions of a module.

    Terms hold no whitespace and no control characters; keys are of 64 bits, and `line_keys` gives one a line.
    """

    version: str
    terms: Callable[[str], Iterable[str]]
    line_keys: Callable[[Iterable[str]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class TermList:
    """Space-separated terms of a trajectory's goal, and of each state by field (STATE_FIELDS); its lines."""

    goal: str
    states: list[list[str]]
    lines: LineTable


def term_list(entry: Entry, tokeniser: Tokeniser) -> TermList:
    """The terms of a trajectory: from the cache, else made and (where the store can be written) cached.

    Raises OSError or ValueError where the trajectory's files are damaged.
    """
    path = _cache_path(entry)
    cached = _read(path, tokeniser)
    if cached is not None:
        return cached
    made = _make(entry, tokeniser)
    _write(path, made, tokeniser)
    return made


def is_cached(entry: Entry, tokeniser: Tokeniser) -> bool:
    """Whether term_list would only read."""
    try:
        with _cache_path(entry).open("rb") as file:
            return file.readline() == f"{_version(tokeniser)}\n".encode()
    except OSError:
        return False


def abandoned_lists(folder: Path) -> list[Path]:
    """What killed writers left in a folder of cached lists: temporary files older than any writing takes."""
    latest = time.time() - _WRITING_SECONDS
    return [path for path in folder.glob(".*") if path.lstat().st_ctime < latest]


def _cache_path(entry: Entry) -> Path:
    return entry.path.parent.parent / TERMS_FOLDER / entry.slug


def _make(entry: Entry, tokeniser: Tokeniser) -> TermList:
    def terms(text: str) -> str:
        return " ".join(sorted(tokeniser.terms(text)))

    read = [_read_state(entry.state_path(index)) for index in range(entry.states)]
    observed = [distinct_lines(state.observation) for _, state in read]
    keys = [
        _keys(distinct_lines(header) | lines, tokeniser)
        for (header, _), lines in zip(read, observed, strict=True)
    ]
    states, thought = [], ""
    for (_, state), new in zip(read, new_lines(observed), strict=True):
        title = _TITLE.match(state.observation)
        fresh = "" if state.thought == thought else state.thought
        thought = state.thought or thought
        fields = (state.url, title[1] if title else "", state.action, fresh, new)
        states.append([terms(field) for field in fields])
    return TermList(terms(f"{entry.goal}\n{entry.start_url}"), states, line_table(keys))


def _read_state(path: Path) -> tuple[str, StateFile]:
    """The text of a state's header, and all of its file."""
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        state = parse_state_file(text)
    except KeyError:
        raise ValueError(f"{path} is damaged; mend: runbook store verify --repair") from None
    return text[: len(text) - len(state.observation)], state


def _keys(lines: dict[str, None], tokeniser: Tokeniser) -> Keys:
    lines.pop("", None)
    return np.fromiter(tokeniser.line_keys(lines), np.uint64, len(lines))


def _version(tokeniser: Tokeniser) -> str:
    return f"{_FORMAT} {tokeniser.version}"


def _read(path: Path, tokeniser: Tokeniser) -> TermList | None:
    try:
        content = path.read_bytes()
        content, checksum = content[:-_CHECKSUM], content[-_CHECKSUM:]
        if _checksum(content) != checksum:
            return None
        text, _, table = content.partition(b"\0")
        version, goal, *lines = text.decode().split("\n")
        if version != _version(tokeniser):
            return None
        return TermList(goal, [line.split("\t") for line in lines[:-1]], LineTable.from_bytes(table))
    except (OSError, ValueError):
        return None


def _checksum(content: bytes) -> bytes:
    return crc32(content).to_bytes(_CHECKSUM, "little")


def _write(path: Path, made: TermList, tokeniser: Tokeniser) -> None:
    text = [_version(tokeniser), made.goal, *("\t".join(state) for state in made.states), ""]
    content = b"\0".join(("\n".join(text).encode(), made.lines.to_bytes()))
    content += _checksum(content)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")  # see abandoned_lists
    try:
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        write_new(os.fspath(temporary), content)
        temporary.replace(path)
    except OSError:  # a store that cannot be written is still searched, only prepared anew each time
        with suppress(OSError):
            temporary.unlink()
