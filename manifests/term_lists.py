"""The search terms of one trajectory, made once and cached beside the store's trajectories.

A cached list `<store>/terms/<slug>` is text: the version of the rule, the terms of goal and start address,
then one line per state with its terms by field, tab-separated, in the order of STATE_FIELDS. It holds what
is *new* in a state: a line or thought that an earlier state showed is left out, so that menus that come back
on every page count once.
"""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .entry import Entry
from .files import FOLDER_MODE, write_new
from .new_lines import new_lines
from .state_files import StateFile, parse_state_file

TERMS_FOLDER = "terms"  # of the store
STATE_FIELDS = ("url", "title", "action", "thought", "observation")

_TITLE = re.compile(r"\s*(?:\[\w+\] )?RootWebArea '(.*?)'(?:,|$)")


@dataclass(frozen=True, slots=True)
class Tokeniser:
    """How text becomes terms: the rule's version, and a function that processes can be sent (module-level).

    Terms hold no whitespace and no control characters.
    """

    version: str
    terms: Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class TermList:
    """Space-separated terms of a trajectory's goal, and of each state by field (STATE_FIELDS)."""

    goal: str
    states: list[list[str]]


def term_list(entry: Entry, tokeniser: Tokeniser) -> TermList:
    """The terms of a trajectory: from the cache, else made and (where the store can be written) cached.

    Raises OSError or ValueError where the trajectory's files are damaged.
    """
    path = _cache_path(entry)
    cached = _read(path, entry, tokeniser)
    if cached is not None:
        return cached
    made = _make(entry, tokeniser)
    _write(path, made, tokeniser)
    return made


def is_cached(entry: Entry, tokeniser: Tokeniser) -> bool:
    """Whether term_list would only read."""
    try:
        with _cache_path(entry).open(encoding="utf-8") as file:
            return file.readline() == f"{tokeniser.version}\n"
    except OSError:
        return False


def _cache_path(entry: Entry) -> Path:
    return entry.path.parent.parent / TERMS_FOLDER / entry.slug


def _make(entry: Entry, tokeniser: Tokeniser) -> TermList:
    def terms(text: str) -> str:
        return " ".join(sorted(tokeniser.terms(text)))

    read = [_state(entry.state_path(index)) for index in range(entry.states)]
    states, thought = [], ""
    for state, new in zip(read, new_lines([state.observation for state in read]), strict=True):
        title = _TITLE.match(state.observation)
        fresh = "" if state.thought == thought else state.thought
        thought = state.thought or thought
        fields = (state.url, title[1] if title else "", state.action, fresh, new)
        states.append([terms(field) for field in fields])
    return TermList(terms(f"{entry.goal}\n{entry.start_url}"), states)


def _state(path: Path) -> StateFile:
    try:
        return parse_state_file(path.read_bytes().decode("utf-8", "replace"))
    except KeyError:
        raise ValueError(f"{path} is damaged; mend: runbook store verify --repair") from None


def _read(path: Path, entry: Entry, tokeniser: Tokeniser) -> TermList | None:
    try:
        version, goal, *lines = path.read_text("utf-8").split("\n")
    except (OSError, ValueError):
        return None
    states = [line.split("\t") for line in lines[:-1]]
    # A machine that stopped while it was written may have left a part of it.
    whole = len(states) == entry.states and not lines[-1] and all(len(s) == len(STATE_FIELDS) for s in states)
    return TermList(goal, states) if whole and version == tokeniser.version else None


def _write(path: Path, made: TermList, tokeniser: Tokeniser) -> None:
    lines = [tokeniser.version, made.goal, *("\t".join(state) for state in made.states), ""]
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        write_new(os.fspath(temporary), "\n".join(lines).encode())
        temporary.replace(path)
    except OSError:  # a store that cannot be written is still searched, only prepared anew each time
        with suppress(OSError):
            temporary.unlink()
