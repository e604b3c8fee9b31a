"""The run folder: one JSON file per question, stage and try; the highest is current, none is rewritten."""

import fcntl
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import ValidationError

from evals.runs.config import RunRecord
from evals.runs.records import StageRecord
from runbook.complaints import of_any
from runbook.files import read_regular, write_json

RUN_FILE = "run.json"
UNFINISHED_FILE = re.compile(r"unfinished\.([1-9][0-9]*)\.json")
REVISION_FILE = re.compile(r"run\.([1-9][0-9]*)\.json")
LOCK_FILE = ".lock"
FORMAT = 1


R = TypeVar("R", bound=StageRecord)


class RunError(Exception):
    """The run folder cannot be used as asked; the message says why and what to do."""


class RunFailure(RunError):  # noqa: N818 - nobody's mistake
    """The machine failed, or another process is in the way; the same command can succeed later."""


class RunFolder:
    """Results of one run on disk, as its latest revision sees them or, where one is given, an earlier one."""

    def __init__(self, path: Path, revision: int | None = None) -> None:
        self.path = path
        self.revision = revision

    @classmethod
    def create(cls, path: Path, record: RunRecord) -> "RunFolder":
        """Make a new run folder.

        Raises:
            RunError: there is a run already, or something else, or the place cannot be written.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            refuse_taken(path)
            write_json(path / RUN_FILE, record)
        except OSError as error:
            raise RunError(f"cannot write a run to {path}: {of_any(error)}") from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open an existing run folder; RUN@K is its revision K. Raises RunError where it is none."""
        if (path / RUN_FILE).is_file():
            return cls(path)
        name, at, number = path.name.rpartition("@")
        run = path.with_name(name) if at and name else path
        if not number.isdecimal() or not (run / RUN_FILE).is_file():
            raise RunError(f"{path} is no run: it has no {RUN_FILE}")
        folder = cls(run, int(number))
        if not folder._settings_file().is_file():
            raise RunError(f"{run} has no revision {int(number)}, its latest is {cls(run).latest_revision()}")
        return folder

    @property
    def name(self) -> str:
        """The folder's name, with the revision where one was chosen."""
        return self.path.resolve().name + ("" if self.revision is None else f"@{self.revision}")

    def latest_revision(self) -> int:
        """0 for a run that kept its reader and judge."""
        return _highest(self.path, REVISION_FILE)

    def revisions(self) -> frozenset[int]:
        """The numbers of the run's revisions; one that was begun and never ended is none."""
        return frozenset({0, *_numbers(self.path, REVISION_FILE)})

    def next_revision(self) -> int:
        """A number that no revision has had, finished or not."""
        return max(self.latest_revision(), _highest(self.path, UNFINISHED_FILE)) + 1

    def unfinished(self) -> RunRecord | None:
        """The revision that was begun last and never ended. Raises RunError where it is damaged."""
        number = _highest(self.path, UNFINISHED_FILE)
        return self._record(self._unfinished_file(number)) if number > self.latest_revision() else None

    def begin_revision(self, record: RunRecord) -> None:
        """Write the settings of a new revision, which is not the current one before it has ended."""
        write_json(self._unfinished_file(record.revision), record)

    def finish_revision(self, number: int) -> None:
        """Make a revision the current one; those before stay as they are."""
        self._unfinished_file(number).replace(self.path / f"run.{number}.json")

    def _unfinished_file(self, number: int) -> Path:
        return self.path / f"unfinished.{number}.json"

    def _settings_file(self) -> Path:
        number = self.latest_revision() if self.revision is None else self.revision
        return self.path / (f"run.{number}.json" if number else RUN_FILE)

    def record(self) -> RunRecord:
        """The run's settings. Raises RunError where they are damaged or of another version."""
        return self._record(self._settings_file())

    def _record(self, file: Path) -> RunRecord:
        try:
            raw = orjson.loads(read_regular(file))
            if isinstance(raw, dict) and raw.get("format", FORMAT) != FORMAT:
                raise RunError(
                    f"{file} has format {raw['format']}, this version reads {FORMAT}: "
                    "use the version that wrote it"
                )
            record = RunRecord.model_validate(raw)
        except (OSError, orjson.JSONDecodeError, ValidationError) as error:
            raise RunError(f"{_unreadable(file, error)}: bring back what the run wrote there") from error
        if lacking := [one for one in record.questions if one not in record.question_types]:
            raise RunError(
                f"{file}: question_types lacks question {lacking[0]!r}: bring back what the run wrote there"
            )
        return record

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run: one process at a time works on it. Raises RunError where another does."""
        if self.revision is not None:
            raise RunError(f"{self.name} can only be looked at: name the run without its revision")
        try:
            lock = (self.path / LOCK_FILE).open("w")
        except OSError as error:
            raise RunError(f"cannot write to the run: {of_any(error)}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunFailure(
                    f"another process is working on {self.path}: wait for it or stop it"
                ) from None
            yield

    def question_folder(self, question_id: str) -> Path:
        """The folder of one question; its name is readable, unique and stays inside the run."""
        return self.path / "questions" / question_slug(question_id)

    def attempts_folder(self, question_id: str) -> Path:
        return self.question_folder(question_id) / "attempts"

    def records(self, question_id: str, kind: type[R]) -> list[R]:
        """All records of a stage in the order of their numbers. Raises RunError where a file is damaged."""
        folder = self.question_folder(question_id)
        return [self._read(question_id, kind, number) for number in _numbers(folder, _pattern(kind))]

    def _read(self, question_id: str, kind: type[R], number: int) -> R:
        file = self.question_folder(question_id) / f"{kind.stage}.{number}.json"
        mend = "move it away to have the stage done again"
        try:
            record = kind.model_validate_json(read_regular(file))
        except (OSError, ValidationError) as error:
            raise RunError(f"{_unreadable(file, error)}: {mend}") from error
        if (record.question_id, record.k) != (question_id, number):
            raise RunError(
                f"{file} is record {record.k} of question {record.question_id!r}, "
                f"not {number} of {question_id!r}: {mend}"
            )
        return record

    def append(self, record: R) -> R:
        """Write a record under the next number, atomically; returns it with that number.

        Raises:
            OSError: nothing was written.
        """
        folder = self.question_folder(record.question_id)
        folder.mkdir(parents=True, exist_ok=True)
        number = _highest(folder, _pattern(type(record))) + 1
        numbered = record.model_copy(update={"k": number})
        write_json(folder / f"{record.stage}.{numbered.k}.json", numbered)
        return numbered


def _pattern(kind: type[StageRecord]) -> re.Pattern[str]:
    return re.compile(rf"{kind.stage}\.([1-9][0-9]*)\.json")


def _numbers(folder: Path, pattern: re.Pattern[str]) -> list[int]:
    """The numbers in the names of a folder's files, in order."""
    if not folder.is_dir():
        return []
    matches = (pattern.fullmatch(entry.name) for entry in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def _highest(folder: Path, pattern: re.Pattern[str]) -> int:
    return max(_numbers(folder, pattern), default=0)


def refuse_taken(path: Path) -> None:
    """Raise RunError where a new run cannot go to `path`, because something is there."""
    if (path / RUN_FILE).exists():
        raise RunError(f"{path} holds a run already: `runbook eval resume {path}` goes on with it")
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is not a folder: name a new folder with --out")
    if path.is_dir() and any(path.iterdir()):
        raise RunError(f"{path} is not empty and not a run: name a new folder with --out")


def question_slug(question_id: str) -> str:
    """A folder name for a question id: readable part plus hash, so that no two ids collide."""
    readable = re.sub(r"[^a-z0-9._-]+", "-", question_id.lower()).strip("-.")[:40]
    return f"{readable or 'question'}-{hashlib.sha256(question_id.encode()).hexdigest()[:10]}"


def _unreadable(file: Path, error: Exception) -> str:
    return of_any(error) if isinstance(error, OSError) else f"{file} cannot be read: {of_any(error)}"
