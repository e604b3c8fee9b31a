"""Importing an LME-V2 data root: its trajectories.jsonl and screenshots, into a store."""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from .convention import shared_convention
from .crew import Alone, Crew, Processes
from .errors import DataError, UnknownTrajectoryError
from .files import reporting
from .incoming import sweep
from .line_worker import Import, LineWorker, Scan, Scanned, Survey, Surveyed
from .lines import MAX_LINE, Line, check_length, pieces
from .model import Convention
from .peek import Peek
from .receipts import Imported, Receipt, Receipts, Signature, boot_id
from .sanitise import recorded_id
from .screenshots import folder_time
from .store import Store
from .writer import Added

__all__ = ["DataError", "ImportReport", "import_lme_v2"]

TRAJECTORIES = "trajectories.jsonl"
_SMALL = 2**20  # bytes; below it, starting processes costs more than they save
_SAVE_EVERY = 5.0  # seconds between receipts, so that an import that is killed is continued

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class ImportReport:
    """What an import did; `reused` trajectories were there before.

    `slugs` maps the recordings' own ids to the store's: as the store has them (`sanitise.recorded_id`), and
    those asked for also as they were asked for.
    """

    slugs: dict[str, str] = field(default_factory=dict)
    trajectories: int = 0
    states: int = 0
    reused: int = 0
    warnings: list[str] = field(default_factory=list)


def import_lme_v2(
    data_root: Path,
    store: Store,
    *,
    processes: int = 2,
    only: Collection[str] | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import the trajectories of a data root, all or those whose ids are in `only`.

    What a receipt says is there already is not read again. `progress(done, total)` counts trajectories.
    Raises DataError, with file and line, for data that cannot be used, and StoreError where the store cannot
    be written; what was imported by then stays, and the same call continues.
    """
    return _Run(data_root, store, processes, progress or _silent).run(only)


def _silent(done: int, total: int) -> None:
    """Progress for nobody."""


class _Run:
    def __init__(self, data_root: Path, store: Store, processes: int, progress: Progress) -> None:
        self._root = Path(os.path.realpath(data_root))
        self._path = self._root / TRAJECTORIES
        self._store = store
        self._processes = processes
        self._progress = progress
        self._receipts = Receipts(store.receipts)

    def run(self, only: Collection[str] | None) -> ImportReport:
        signature = self._signature()
        receipt = self._receipts.load(self._path, signature) or Receipt(signature, boot=boot_id())
        self._forget_stale(receipt)
        missing: list[str] = []
        with ExitStack() as stack:
            # Also where nothing is to be imported: who was killed after its last receipt left its folder.
            sweep(self._store.incoming)
            stack.callback(sweep, self._store.incoming)  # after the crew has gone, however it went
            crew: Crew | None = None
            if not receipt.lines:
                crew = self._crew(stack, signature)
                self._survey(crew, receipt, signature.size)
            wanted = self._wanted(receipt, only)
            missing = [i for i in wanted if i not in receipt.imported]
            if missing:
                self._import(crew or self._crew(stack, signature), receipt, missing, len(wanted))
        if self._signature() != signature:
            raise DataError(f"{self._path} changed while it was read; import it again")
        return _report(receipt, wanted, missing, only or ())

    def _signature(self) -> Signature:
        try:
            found = self._path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise DataError(f"{self._path} is not a regular file")
            self._path.open("rb").close()
        except PermissionError as error:
            raise DataError(f"{self._path} may not be read; give yourself read permission") from error
        except OSError as error:
            raise DataError(
                f"{self._path}: {error.strerror}; a data root is a folder with {TRAJECTORIES} in it"
            ) from error
        return Signature.of(found)

    def _forget_stale(self, receipt: Receipt) -> None:
        """Drop from the receipt what is not in the store as it was, and what may look different by now."""
        rebooted = receipt.boot != boot_id()
        for trajectory_id, done in list(receipt.imported.items()):
            fresh = all(folder_time(self._root / name) == time for name, time in done.folders.items())
            if (
                not fresh
                or not self._store.has(done.slug)
                or (rebooted and not self._store.intact(done.slug))
            ):
                del receipt.imported[trajectory_id]
        receipt.boot = boot_id()

    def _crew(self, stack: ExitStack, signature: Signature) -> Crew:
        writer = stack.enter_context(self._store.writer(self._root))
        if self._processes < 2 or signature.size < _SMALL:
            return Alone(stack.enter_context(closing(LineWorker(self._path, writer))))
        return stack.enter_context(Processes(self._path, self._store.root, self._root, self._processes))

    def _survey(self, crew: Crew, receipt: Receipt, size: int) -> None:
        """Learn who is on which line, and what holds for recordings that do not tell their convention."""
        found: list[Surveyed] = []
        unclear: list[Line] = []
        for line, seen in self._lines(crew, size):
            if seen:
                found.append(Surveyed(line, seen.id, seen.convention))
            else:
                unclear.append(line)
        for _, answer in crew.do(Survey(line) for line in unclear):
            assert isinstance(answer, Surveyed)
            found.append(answer)
        if not found:
            raise DataError(f"{self._path} holds no trajectory")
        for one in sorted(found, key=lambda one: one.line.number):
            earlier = receipt.lines.setdefault(one.id, one.line)
            if earlier is not one.line:
                raise DataError(
                    f"{self._path}:{one.line.number}: id {one.id!r} was used before, "
                    f"on line {earlier.number}; every trajectory needs an id of its own"
                )
        receipt.shared = shared_convention(one.convention for one in found)

    def _lines(self, crew: Crew, size: int) -> Iterator[tuple[Line, Peek | None]]:
        """The lines of the file, in order, each with what a glance at it tells."""
        scanned: list[Scanned] = []
        endless = False

        def scans() -> Iterator[Scan]:
            for start, end in pieces(size):
                if endless:  # gigabytes without a line feed are not read for nothing
                    return
                yield Scan(start, end)

        for _, answer in crew.do(scans()):
            assert isinstance(answer, Scanned)
            scanned.append(answer)
            endless = endless or any(line.length > MAX_LINE for line, _ in answer.lines)
        number = 1
        for piece in sorted(scanned, key=lambda piece: piece.start):
            for relative, seen in piece.lines:
                line = relative._replace(number=number + relative.number)
                check_length(self._path, line)
                yield line, seen
            number += piece.feeds

    def _wanted(self, receipt: Receipt, only: Collection[str] | None) -> list[str]:
        if only is None:
            return list(receipt.lines)
        chosen = {recorded_id(one): one for one in only}
        for unknown in sorted(chosen - receipt.lines.keys()):
            near = get_close_matches(unknown, receipt.lines, n=3)
            hint = f"; near to it: {', '.join(near)}" if near else ""
            raise UnknownTrajectoryError(f"{self._path} has no trajectory {unknown!r}{hint}", chosen[unknown])
        return [trajectory_id for trajectory_id in receipt.lines if trajectory_id in chosen]

    def _import(self, crew: Crew, receipt: Receipt, missing: list[str], total: int) -> None:
        names = {receipt.lines[i].offset: i for i in missing}
        shared = receipt.shared or Convention.UNKNOWN
        done, saved = total - len(missing), time.monotonic()
        try:
            for task, answer in crew.do(Import(receipt.lines[i], shared) for i in missing):
                assert isinstance(answer, Added)
                receipt.imported[names[task.offset]] = _imported(answer)
                done += 1
                self._progress(done, total)
                if time.monotonic() - saved > _SAVE_EVERY:
                    self._save(receipt)
                    saved = time.monotonic()
        finally:
            self._save(receipt)

    def _save(self, receipt: Receipt) -> None:
        with reporting(f"cannot write to the store {self._store.root}"):
            self._receipts.save(self._path, receipt)


def _imported(added: Added) -> Imported:
    return Imported(
        added.slug, added.states, added.reused, added.folders, added.missing_screenshots, added.warnings
    )


def _report(receipt: Receipt, wanted: list[str], missing: list[str], asked: Collection[str]) -> ImportReport:
    found = [(i, receipt.imported[i]) for i in wanted]
    new = set(missing)
    missing_shots = [done.missing for _, done in found if done.missing]
    warnings = [text for _, done in found for text in done.warnings]
    return ImportReport(
        slugs={i: done.slug for i, done in found} | {i: receipt.imported[recorded_id(i)].slug for i in asked},
        trajectories=len(found),
        states=sum(done.states for _, done in found),
        reused=sum(1 for i, done in found if i not in new or done.reused),
        warnings=[*_first(missing_shots, 3), *_first(warnings, 1000)],
    )


def _first(warnings: list[str], most: int) -> list[str]:
    if len(warnings) <= most:
        return warnings
    return [*warnings[:most], f"and {len(warnings) - most} more warnings like the last one"]
