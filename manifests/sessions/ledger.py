"""What was imported of each session file, so that an unchanged one is not read again."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ..errors import StoreError
from ..files import replace_file
from ..receipts import Signature, boot_id
from .finding import shown

NEVER = Signature(-1, -1, -1)  # of no file
_VERSION = 2  # of what importing makes of a file; after a change all are read again


@dataclass(slots=True)
class Kept:
    """A trajectory of a session file. `within` is the id of one that repeats it whole, "" where none does."""

    id: str
    slug: str
    states: int
    first: int
    last: int
    within: str = ""


@dataclass(slots=True)
class FileRecord:
    """One version of a session file. Without trajectories it is empty or, if `foreign`, no session at all."""

    path: str
    signature: Signature
    kept: list[Kept] = field(default_factory=list)
    foreign: bool = False
    skipped: int = 0
    masked: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Ledger:
    """The records of one agent's session files, in `<receipts>/sessions-<agent>.json`."""

    def __init__(self, receipts: Path, agent: str) -> None:
        self._path = receipts / f"sessions-{agent}.json"
        self._agent = agent
        self.boot = boot_id()
        self.rebooted = False
        self.records: dict[str, FileRecord] = {}

    @contextmanager
    def opened(self) -> Iterator["Ledger"]:
        """Read the records, and keep other imports of the same agent's sessions out until the block ends."""
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"another import of {self._agent} sessions into this store is running; wait for its end"
                ) from None
            self._load()
            yield self
        finally:
            os.close(lock)

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Save when the block ends, however it does."""
        try:
            yield
        finally:
            self.save()

    def distrust(self, keys: Iterable[str]) -> None:
        """Let files be read again, also by the next import should this one be cut off."""
        for key in keys:
            if record := self.records.get(key):
                record.signature = NEVER

    def save(self) -> None:
        """Write the records."""
        files = {key: asdict(record) for key, record in self.records.items()}
        replace_file(self._path, orjson.dumps({"version": _VERSION, "boot": self.boot, "files": files}))

    def _load(self) -> None:
        try:
            stored = orjson.loads(self._path.read_bytes())
            self.records = {key: _record(raw) for key, raw in stored["files"].items()}
            self.rebooted = stored["boot"] != self.boot
            if stored["version"] != _VERSION:
                self.distrust(self.records)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            self.records = {}


def file_key(path: Path) -> str:
    """The key of a file's record."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def new_record(path: Path, signature: Signature) -> FileRecord:
    """The record of a file about which nothing is known yet."""
    return FileRecord(shown(path), signature)


def _record(raw: dict[str, Any]) -> FileRecord:
    signature = Signature(**raw.pop("signature"))
    kept = [Kept(**one) for one in raw.pop("kept")]
    return FileRecord(signature=signature, kept=kept, **raw)
