"""Putting what a session file holds into the store, in the place of what it held before."""

from collections.abc import Callable
from pathlib import Path

from ..model import Convention
from ..writer import Writer
from .ledger import Kept, Ledger
from .recording import Recording
from .repeats import Repeats
from .session_file import SessionFile
from .versions import Versions


class Keeper:
    """Keeps sessions one file after the other; `ledger` then tells what was kept."""

    def __init__(
        self,
        writer: Writer,
        ledger: Ledger,
        versions: Versions,
        read_marks: Callable[[Path], frozenset[int]],
    ) -> None:
        self._writer = writer
        self._ledger = ledger
        self._versions = versions
        self._repeats = Repeats(ledger.records, read_marks)

    def keep(self, key: str, session: SessionFile) -> None:
        """Keep what the file `key` holds."""
        before = self._ledger.records.get(key)
        older = before.kept if before else []
        self._repeats.forget(key, older)
        record = session.record
        record.kept = [self._kept(recording, session) for recording in session.recordings]
        self._repeats.note(key, record.kept, session.marks)
        self._ledger.records[key] = record
        self._replace_lost(older, record.kept)

    def _kept(self, recording: Recording, session: SessionFile) -> Kept:
        trajectory = recording.trajectory
        kept = Kept(trajectory.id, "", len(trajectory.states), recording.first, recording.last)
        whole = self._repeats.whole(kept)
        if whole:
            kept.slug, kept.within = whole.slug, whole.id
            return kept
        added = self._writer.add(trajectory, Convention.SOURCE, session.record.path)
        session.record.warnings += added.warnings
        kept.slug = added.slug
        self._versions.add(kept.id, kept.slug)
        for part in self._repeats.parts(kept, session.marks):
            self._versions.replace(part.slug, kept.slug)
            part.slug, part.within = kept.slug, kept.id
        return kept

    def _replace_lost(self, older: list[Kept], newer: list[Kept]) -> None:
        """Let what the file holds no longer under its old id give way to what it holds now."""
        names = {kept.id for kept in newer}
        newest = next((kept.slug for kept in newer if not kept.within), "")
        for kept in older:
            if newest and kept.id not in names and not kept.within:
                self._versions.replace(kept.slug, newest)
