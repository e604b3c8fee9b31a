"""Reading one session file, whichever agent's it is said to be."""

import os
import stat
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..receipts import Signature
from .finding import shown
from .formats import FORMATS, SessionFormat
from .ledger import FileRecord, new_record
from .pictures import Pictures
from .reading import session_lines
from .recording import Recording
from .texts import Scrubber

_NAMED_KINDS = 5  # unknown kinds of lines that a warning names


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
        record = new_record(file, Signature(0, 0, 0))
        record.foreign = True
        record.warnings.append(f"{shown(file)}: {error.strerror}; give yourself read permission")
        return SessionFile(record, [], frozenset())
    with os.fdopen(fd, "rb") as opened:
        record = new_record(file, Signature.of(os.fstat(fd)))
        reader = form.reader(file, pictures)
        known, other = False, ""
        unknown: Counter[str] = Counter()
        for line in session_lines(opened):
            if line.problem:
                record.skipped += 1
                record.warnings.append(f"{record.path}:{line.number}: {line.problem}; the line was skipped")
                continue
            known = known or form.knows(line.record)
            other = other or _other(line.record, form)
            if not reader.take(line.record):
                record.skipped += 1
                unknown[str(line.record.get("type"))[:40]] += 1
    if not known:
        record.foreign = True
        record.warnings = [_no_session(record.path, form, other)]
        return SessionFile(record, [], frozenset())
    if unknown:
        kinds = ", ".join(f"{kind!r} {count}" for kind, count in unknown.most_common(_NAMED_KINDS))
        record.warnings.append(f"{record.path}: lines of unknown kinds were skipped: {kinds}")
    scrubber = Scrubber()
    recordings = reader.recordings(scrubber)
    record.masked = scrubber.masked
    return SessionFile(record, recordings, frozenset(reader.marks))


def marks_of(file: Path, form: SessionFormat) -> frozenset[int]:
    """The marks of the messages of a file that was read before; none where it is gone."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as scratch:
        session = read_session(file, form, Pictures(Path(scratch)))
    return session.marks if session else frozenset()


def _other(line: dict[str, object], form: SessionFormat) -> str:
    """The name of another agent whose line this can be, "" where it is of none."""
    return next((name for name, other in FORMATS.items() if other is not form and other.knows(line)), "")


def _no_session(path: str, form: SessionFormat, other: str) -> str:
    mend = f"use `runbook import {other}`" if other else "give a session file (*.jsonl)"
    return f"{path}:1: no line of this file is of a {form.label} session; {mend}"
