"""An errata file: questions that cannot be scored, and answers that are right though the gold has another.

TOML or JSON, by suffix:

    format = 1
    name = "our reading of the gold"
    version = "2026-05-01"
    questions_sha256 = "..."        # optional: the questions.jsonl that it was made for

    [[question]]
    id = "q-17"
    exclude = true
    reason = "the recordings contradict the gold"

    [[question]]
    id = "q-23"
    also = ["Save as draft"]        # in the form that the question's own evaluator takes
    reason = "the button has two names"
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runbook.complaints import faults_of
from runbook.toml_places import Fault, TomlPlaces, told_faults
from runbook.toml_reading import TomlError, parse_toml

MAX_BYTES = 4 * 1024 * 1024


class ErrataError(Exception):
    """An errata file that cannot be used; the message names the file, the place and the mend."""


class Erratum(BaseModel):
    """What is wrong with one question's gold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    exclude: bool = False
    also: tuple[str, ...] = ()
    """Further right answers."""
    reason: str = Field(min_length=1)

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.exclude == bool(self.also):
            raise ValueError("say either exclude = true or also = [answers]")
        if not all(answer.strip() for answer in self.also):
            raise ValueError("an answer in also is empty")
        return self


class Errata(BaseModel):
    """The content of an errata file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1]
    name: str = Field(min_length=1)
    version: str = Field(min_length=1)
    questions_sha256: str | None = None
    question: tuple[Erratum, ...] = ()
    sha256: str = ""
    """Of the file, filled in when it is read."""

    def of(self, question_id: str) -> Erratum | None:
        """What is wrong with a question's gold; None for most."""
        return next((one for one in self.question if one.id == question_id), None)


def load_errata(path: Path) -> Errata:
    """Read an errata file. Raises ErrataError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ErrataError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise ErrataError(f"{path} is over {MAX_BYTES} bytes: no errata file is that long")
    content = _parsed(path, data)
    faults: list[Fault] = list(_twice(content))
    try:
        errata = Errata.model_validate(content)
    except ValidationError as error:
        faults += faults_of(error, Errata)
    if faults:
        places = TomlPlaces("" if path.suffix == ".json" else data.decode())
        raise ErrataError(told_faults(path, places, faults))
    return errata.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})


def _parsed(path: Path, data: bytes) -> Any:
    try:
        if path.suffix == ".json":
            return orjson.loads(data)
        return parse_toml(data)
    except orjson.JSONDecodeError as error:
        raise ErrataError(f"{path} is no valid JSON: {error}") from None
    except TomlError as error:
        raise ErrataError(f"{path} is no valid TOML: {error}") from None


def _twice(content: Any) -> Iterator[Fault]:
    """Questions that stand there again, in whatever form the rest is."""
    questions = content.get("question") if isinstance(content, dict) else None
    seen: set[str] = set()
    for place, one in enumerate(questions if isinstance(questions, list) else ()):
        question_id = one.get("id") if isinstance(one, dict) else None
        if isinstance(question_id, str) and question_id in seen:
            yield ("question", place, "id"), f"question {question_id!r} stands there twice: keep one"
        elif isinstance(question_id, str):
            seen.add(question_id)
