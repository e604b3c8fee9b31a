"""Reading one session file, whichever agent's it is said to be."""

import os
import stat
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..receipts import Signature
from .blocks import kind_of
from .formats import FORMATS, SessionFormat
from .ledger import NEVER, FileRecord, new_record
from .pictures import Pictures
from .reading import SessionLine, session_lines
from .recording import Recording
from .texts import Scrubber

_NAMED_LINES = 20  # broken lines of a file that warnings name
_NAMED_KINDS = 5  # unknown kinds of lines that a warning names
_LONGEST_KIND = 40  # characters


@dataclass(frozen=True, slots=True)
class SessionFile:
    """What a file holds, and the marks of all its messages."""

    record: FileRecord
    recordings: list[Recording]
    marks: frozenset[int]


def signature_of(file: Path) -> Signature | None:
    """The file as it is now; None where it is gone or no regular file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return Signature.of(found) if stat.S_ISREG(found.st_mode) else None


def read_session(file: Path, form: SessionFormat, pictures: Pictures) -> SessionFile | None:
    """Read a session file; None where it was removed meanwhile. What is wrong with it is in its record."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        unread = new_record(file, NEVER)
        return _no_session(unread, f"{unread.path}: {error.strerror}; give yourself read permission")
    with os.fdopen(fd, "rb") as opened:
        record = new_record(file, Signature.of(os.fstat(fd)))
        reader = form.reader(file, pictures)
        reading = _Reading()
        for line in session_lines(opened):
            reading.note(line, form)
            if not line.problem and not reader.take(line.record):
                reading.unknown[kind_of(line.record)[:_LONGEST_KIND]] += 1
    if not reading.known:
        mend = f"use `runbook import {reading.other}`" if reading.other else "give a session file (*.jsonl)"
        return _no_session(
            record, f"{record.path}:1: no line of this file is of a {form.label} session; {mend}"
        )
    record.skipped = reading.broken + reading.unknown.total()
    record.warnings = reading.warnings(record.path)
    scrubber = Scrubber()
    recordings = reader.recordings(scrubber)
    record.masked = scrubber.masked
    return SessionFile(record, recordings, frozenset(reader.marks))


def marks_of(file: Path, form: SessionFormat) -> frozenset[int]:
    """The marks of the messages of a file that was read before; none where it is gone."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as scratch:
        session = read_session(file, form, Pictures(Path(scratch)))
    return session.marks if session else frozenset()


def _no_session(record: FileRecord, warning: str) -> SessionFile:
    record.foreign = True
    record.warnings = [warning]
    return SessionFile(record, [], frozenset())


@dataclass(slots=True)
class _Reading:
    """What was met in a file so far: `known` once a line was of its format, `other` names another format."""

    known: bool = False
    other: str = ""
    broken: int = 0
    problems: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def note(self, line: SessionLine, form: SessionFormat) -> None:
        if line.problem:
            self.broken += 1
            if len(self.problems) < _NAMED_LINES:
                self.problems.append(f":{line.number}: {line.problem}; the line was skipped")
        elif not self.known:
            self.known = form.knows(line.record)
            others = (one.name for one in FORMATS.values() if one is not form and one.knows(line.record))
            self.other = self.other or next(others, "")

    def warnings(self, path: str) -> list[str]:
        told = list(self.problems)
        if self.broken > len(self.problems):
            told.append(f": {self.broken - len(self.problems)} more lines were skipped")
        if self.unknown:
            kinds = ", ".join(f"{kind!r} {count}" for kind, count in self.unknown.most_common(_NAMED_KINDS))
            told.append(f": lines of unknown kinds were skipped: {kinds}")
        return [path + text for text in told]
