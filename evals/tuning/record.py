"""`study.json`: what a study began with, so that it goes on with the same or not at all."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.runs.records import now
from evals.tuning.plan import Plan
from evals.tuning.study_file import StudyError, flat
from runbook.complaints import of_any
from runbook.files import write_json

FILE, LOCK = "study.json", ".lock"
FORMAT = 1


class StudyRecord(BaseModel):
    """What may not change between two starts."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    created_at: str
    settings: dict[str, Any]
    """The study's file without its caps."""
    data_digests: dict[str, str]
    search: tuple[str, ...]
    confirm: tuple[str, ...]


@contextmanager
def recorded(plan: Plan, folder: Path) -> Iterator[None]:
    """Hold the folder of a study, new or begun with the same plan.

    Raises:
        StudyError: the study or its data changed since it began, another process works on it, or the folder
            holds something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise StudyError(of_any(error)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StudyError(f"another process is working on {folder}: wait for it or stop it") from None
        _agree(plan, folder)
        yield


def _agree(plan: Plan, folder: Path) -> None:
    file = folder / FILE
    record = StudyRecord(
        created_at=now(),
        settings=plan.study.lasting(),
        data_digests=dict(plan.data.digests),
        search=plan.split.search,
        confirm=plan.split.confirm,
    )
    if not file.exists():
        if any(not one.name.startswith(".") for one in folder.iterdir()):
            raise StudyError(f"{folder} is not empty and not a study: name a new folder with --out")
        write_json(file, record)
        return
    try:
        before = StudyRecord.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise StudyError(f"{file} cannot be read: {of_any(error)} (bring it back)") from None
    anew = "start a new study with --out, or restore it"
    if changed := _changed(before.settings, record.settings):
        raise StudyError(
            f"the study's file changed since the study in {folder} began: {', '.join(changed)} "
            f"({anew}; [caps] alone may change)"
        )
    if before.data_digests != record.data_digests:
        raise StudyError(f"the data root {plan.base.data} changed since the study in {folder} began: {anew}")
    if (before.search, before.confirm) != (record.search, record.confirm):
        raise StudyError(f"this version splits the questions otherwise than the study in {folder}: {anew}")


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    old, new = flat(before), flat(after)
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
