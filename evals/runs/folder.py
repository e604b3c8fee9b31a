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
from runbook.files import write_json

RUN_FILE = "run.json"
LOCK_FILE = ".lock"
FORMAT = 1


R = TypeVar("R", bound=StageRecord)


class RunError(Exception):
    """The run folder cannot be used as asked; the message says why and what to do."""


class RunFailure(RunError):  # noqa: N818 - nobody's mistake
    """The machine failed, or another process is in the way; the same command can succeed later."""


class RunFolder:
    """Results of one run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

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
        """Open an existing run folder. Raises RunError where it is none, or of another version."""
        if not (path / RUN_FILE).is_file():
            raise RunError(f"{path} is no run: it has no {RUN_FILE}")
        return cls(path)

    def record(self) -> RunRecord:
        """The run's settings. Raises RunError where run.json is damaged or of another version."""
        file = self.path / RUN_FILE
        try:
            raw = orjson.loads(file.read_bytes())
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

    def current(self, question_id: str, kind: type[R]) -> R | None:
        """The latest record of a stage. Raises RunError where the file is damaged."""
        number = self._latest(question_id, kind)
        if number == 0:
            return None
        file = self.question_folder(question_id) / f"{kind.stage}.{number}.json"
        mend = "move it away to have the stage done again"
        try:
            record = kind.model_validate_json(file.read_bytes())
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
        numbered = record.model_copy(update={"k": self._latest(record.question_id, type(record)) + 1})
        write_json(folder / f"{record.stage}.{numbered.k}.json", numbered)
        return numbered

    def _latest(self, question_id: str, kind: type[StageRecord]) -> int:
        folder = self.question_folder(question_id)
        pattern = re.compile(rf"{kind.stage}\.([1-9][0-9]*)\.json")
        if not folder.is_dir():
            return 0
        matches = (pattern.fullmatch(entry.name) for entry in folder.iterdir())
        return max((int(match[1]) for match in matches if match), default=0)


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
