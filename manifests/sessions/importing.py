"""Importing people's own agent histories: session files into a store."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import DataError
from ..files import reporting
from ..store import Store
from .finding import session_files, shown
from .formats import FORMATS, SessionFormat
from .keeping import Keeper
from .ledger import FileRecord, Kept, Ledger, file_key
from .pictures import Pictures
from .session_file import marks_of, read_session, signature_of
from .versions import Versions

_MOST_WARNINGS = 1000  # lines of a report
_SAVE_EVERY = 5.0  # seconds between receipts, so that an import that is killed is continued

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class SessionReport:
    """What an import did. `slugs` maps the sessions' ids to the store's, `newest` is the one changed last.

    `reused` of the `sessions` were not read again; `repeated` ones are left out because another one begins
    with all of them; `empty` files hold nothing that happened; `skipped` lines could not be read; `masked`
    counts secrets by kind. All but `reused` are about all that was found, read now or before.
    """

    slugs: dict[str, str] = field(default_factory=dict)
    newest: str = ""
    sessions: int = 0
    states: int = 0
    reused: int = 0
    repeated: int = 0
    empty: int = 0
    skipped: int = 0
    masked: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def import_sessions(
    path: Path, store: Store, agent: str, *, progress: Progress | None = None
) -> SessionReport:
    """Import the sessions of `agent` ("claude-code", "codex") in a file, a folder, or the agent's own folder.

    Each session becomes one trajectory, and so does the work of each of its subagents; a session that has
    grown since takes the place of its older version. `progress(done, total)` counts files.
    Raises DataError where there is no session at `path`, and StoreError where the store cannot be written;
    what was imported by then stays, and the same call continues.
    """
    return _Run(path, store, FORMATS[agent], progress or _silent).run()


def _silent(done: int, total: int) -> None:
    """Progress for nobody."""


class _Run:
    def __init__(self, path: Path, store: Store, form: SessionFormat, progress: Progress) -> None:
        self._path = Path(os.path.realpath(path))
        self._store = store
        self._form = form
        self._progress = progress
        self._ledger = Ledger(store.receipts, form.name)

    def run(self) -> SessionReport:
        report = SessionReport()
        files = {
            file_key(file): file for file in session_files(self._path, self._form.folders, report.warnings)
        }
        with reporting(f"cannot write to the store {self._store.root}"), self._ledger.opened():
            versions = Versions(self._store)
            stale = {key: file for key, file in files.items() if not self._fresh(key, file, versions)}
            if stale:
                self._ledger.distrust(stale)
                self._read_all(stale, len(files), versions)
            known = self._ledger.records
            records = [known[key] for key in files if key in known]
            report.reused = sum(len(_seen(known[key])) for key in files if key not in stale)
        self._check(records)
        _sum_up(report, records)
        return report

    def _fresh(self, key: str, file: Path, versions: Versions) -> bool:
        """Whether the file is as it was, and what came of it is where it was."""
        record = self._ledger.records.get(key)
        if record is None or signature_of(file) != record.signature:
            return False
        return all(self._in_place(kept, versions) for kept in record.kept)

    def _in_place(self, kept: Kept, versions: Versions) -> bool:
        if kept.within:
            return bool(versions.current(kept.within))
        if kept.slug not in versions.current(kept.id):
            return False
        return not self._ledger.rebooted or self._store.intact(kept.slug)

    def _read_all(self, files: dict[str, Path], total: int, versions: Versions) -> None:
        done, saved = total - len(files), time.monotonic()
        with (
            self._ledger.saved(),
            tempfile.TemporaryDirectory(prefix="sessions-") as scratch,
            self._store.writer(Path(scratch)) as writer,
        ):
            keeper = Keeper(writer, self._ledger, versions, lambda file: marks_of(file, self._form))
            pictures = Pictures(Path(scratch))
            for key, file in files.items():
                session = read_session(file, self._form, pictures)
                if session:
                    keeper.keep(key, session)
                pictures.clear()
                done += 1
                self._progress(done, total)
                if time.monotonic() - saved > _SAVE_EVERY:
                    self._ledger.save()
                    saved = time.monotonic()

    def _check(self, records: list[FileRecord]) -> None:
        if any(not record.foreign for record in records):
            return
        label = self._form.label
        if not self._path.is_dir() and records:
            raise DataError(records[0].warnings[0])
        raise DataError(
            f"{shown(self._path)}: no session of {label} in it; give a session file (*.jsonl), a folder "
            f"of them, or the one in which {label} keeps {' and '.join(self._form.folders)}"
        )


def _seen(record: FileRecord) -> list[Kept]:
    """The trajectories of a file that no other one repeats."""
    return [kept for kept in record.kept if not kept.within]


def _sum_up(report: SessionReport, records: list[FileRecord]) -> None:
    masked: Counter[str] = Counter()
    for record in records:
        seen = _seen(record)
        report.newest = seen[0].slug if seen else report.newest
        report.slugs.update({kept.id: kept.slug for kept in seen})
        report.sessions += len(seen)
        report.states += sum(kept.states for kept in seen)
        report.repeated += len(record.kept) - len(seen)
        report.empty += not record.kept and not record.foreign
        report.skipped += record.skipped
        report.warnings += record.warnings
        masked.update(record.masked)
    report.masked = dict(sorted(masked.items()))
    if len(report.warnings) > _MOST_WARNINGS:
        more = len(report.warnings) - _MOST_WARNINGS
        report.warnings = [*report.warnings[:_MOST_WARNINGS], f"and {more} more warnings of this kind"]
