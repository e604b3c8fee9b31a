"""On which lines of a TOML document its keys stand, so that whatever is wrong with it can be told at once."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Place: TypeAlias = tuple[int | str, ...]
"""Keys and, in lists, numbers from 0 on, from the document down."""
Fault: TypeAlias = tuple[Place, str]
"""Where something is wrong, and what: with its key in words, for whoever does not count lines."""

_LONGEST_STATEMENT = 2_000
"""Lines of one value, above which it is passed over."""
_DEEPEST = 20
"""Levels below which a key has the line of what encloses it."""
_MOST_FAULTS = 30
_LONGEST_FAULT = 1_000
"""Characters of what is told of one."""


class TomlPlaces:
    """The lines of a document that can be parsed; of one that cannot, those before its fault."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Place, int] = {}
        self._lists: dict[Place, int] = {}
        self._read(text.replace("\r\n", "\n").split("\n"))

    @classmethod
    def of_file(cls, file: Path) -> "TomlPlaces":
        """Of a file that was read already; no lines where that is not possible any more."""
        try:
            return cls(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeError):
            return cls("")

    def line(self, place: Place) -> int | None:
        """The line of a key, from 1; of what encloses it where it is not there; None where nothing is."""
        known = (self._lines.get(place[:length]) for length in range(len(place), 0, -1))
        return next((line for line in known if line is not None), None)

    def __contains__(self, place: Place) -> bool:
        return place in self._lines

    def _read(self, lines: Sequence[str]) -> None:
        table: Place = ()
        for number, statement in _statements(lines):
            if statement.lstrip().startswith("["):
                table = self._table(tomllib.loads(statement), number)
            else:
                self._note(table, tomllib.loads(statement), number)

    def _table(self, content: dict[str, Any], number: int) -> Place:
        """Where a header leads to."""
        place: Place = ()
        value: Any = content
        while isinstance(value, dict) and value:
            [(key, value)] = value.items()
            place = (*place, key)
            if isinstance(value, list):  # [[so]] begins another table of the list
                self._lists[place] = self._lists.get(place, -1) + 1
                value = value[0]
            if place in self._lists:
                self._lines.setdefault(place, number)
                place = (*place, self._lists[place])
            self._lines.setdefault(place, number)
        return place

    def _note(self, above: Place, value: Any, number: int) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            self._lines.setdefault((*above, key), number)
            if isinstance(one, dict | list) and len(above) < _DEEPEST:
                self._note((*above, key), one, number)


def _statements(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Headers and settings with the lines they begin on; one that goes over several lines is put together."""
    begun = 0
    while begun < len(lines):
        if not lines[begun].strip() or lines[begun].lstrip().startswith("#"):
            begun += 1
            continue
        for end in range(begun + 1, min(len(lines), begun + _LONGEST_STATEMENT) + 1):
            statement = "\n".join(lines[begun:end])
            try:
                tomllib.loads(statement)
            except (tomllib.TOMLDecodeError, RecursionError, ValueError):
                continue
            yield begun + 1, statement
            break
        else:
            return
        begun = end


def told_faults(file: Path | str, places: TomlPlaces, faults: Sequence[Fault]) -> str:
    """All that is wrong with a file: `file:line: fault`, or of several the file and a line for each."""
    told_once = dict.fromkeys((places.line(place), _one_line(text)) for place, text in faults)
    lined = sorted(told_once, key=lambda one: one[0] or 0)
    if len(lined) == 1:
        [(line, text)] = lined
        return f"{file}:{line}: {text}" if line else f"{file}: {text}"
    told = [f"  line {line}: {text}" if line else f"  {text}" for line, text in lined[:_MOST_FAULTS]]
    more = [f"  and {len(lined) - _MOST_FAULTS} more"] if len(lined) > _MOST_FAULTS else []
    return "\n".join([f"{file} has {len(lined)} faults:", *told, *more])


def _one_line(text: str) -> str:
    """A fault whose key may be any text of the file."""
    line = "".join(mark if mark.isprintable() else " " for mark in text)
    return line if len(line) <= _LONGEST_FAULT else line[:_LONGEST_FAULT] + " ..."
