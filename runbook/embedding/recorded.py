"""Answers of models on disk, by digest of what was asked: asked once, and known how long it took."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from runbook.endpoint.usage import Usage
from runbook.files import write_json


class RecordedAnswer(BaseModel):
    """What a model answered, and what that took."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: JsonValue
    seconds: float
    """Wall time of the whole call, its retries and waits included."""
    calls: int
    usage: Usage
    model: str | None = None
    """Who answered, as the reply says."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, and whether it was recorded earlier rather than asked for now."""

    answer: RecordedAnswer
    reused: bool


class RecordedCalls:
    """A folder of answers. Safe to use from several threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, asked: JsonValue, ask: Callable[[], RecordedAnswer]) -> Given:
        """The recorded answer to what is asked, else that of `ask`, which is then recorded.

        Raises whatever `ask` raises, and OSError where the answer cannot be written.
        """
        digest = hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()
        file = self._folder / digest[:2] / f"{digest}.json"
        if (known := _read(file)) is not None:
            return Given(known, reused=True)
        answer = ask()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, answer)
        return Given(answer, reused=False)


def _read(file: Path) -> RecordedAnswer | None:
    """None where it is not there, or damaged: then it is asked for again."""
    try:
        return RecordedAnswer.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
