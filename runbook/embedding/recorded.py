"""Answers of models on disk, by digest of what was asked: asked once, and known how long it took."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from runbook.endpoint.ledger import Asked, Ledger, Took
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
    rate_limit_seconds: float = 0.0
    """The part of `seconds` that a rate limit asked for."""
    model: str | None = None
    """Who answered, as the reply says."""

    @property
    def took(self) -> Took:
        """As a ledger notes it."""
        said = self.value if isinstance(self.value, str) else ""
        return Took(self.seconds, self.calls, self.usage, self.rate_limit_seconds, self.model, said)


class RecordedCalls:
    """A folder of answers. Safe to use from several threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(
        self, content: JsonValue, asked: Asked, ledger: Ledger, send: Callable[[], RecordedAnswer]
    ) -> RecordedAnswer:
        """The recorded answer to this content, else that of `send`, which is then recorded.

        The ledger notes it either way.
        Raises what `Ledger.ask` raises, and OSError where the answer cannot be written.
        """
        digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
        file = self._folder / digest[:2] / f"{digest}.json"
        if (known := _read(file)) is not None:
            ledger.reuse(asked, known)
            return known
        answer = ledger.ask(asked, send)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, answer)
        return answer


def _read(file: Path) -> RecordedAnswer | None:
    """None where it is not there, or damaged: then it is asked for again."""
    try:
        return RecordedAnswer.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
