"""What was imported from a data root, so that a second start reads none of it again."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from .files import replace_hint
from .lines import Line
from .model import Convention

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Signature:
    """A file as it was: changed as soon as one of these is."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> "Signature":
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass(frozen=True, slots=True)
class Imported:
    """A trajectory of the data root in the store."""

    slug: str
    states: int
    reused: bool  # was in the store before, from another data root or an import that was cut off
    folders: dict[str, int | None]
    missing: str  # what is said of screenshots that are not there, "" if all are
    warnings: list[str]


@dataclass(slots=True)
class Receipt:
    """All that is known of one version of a data root's trajectories.jsonl.

    `lines` is where each id's line lies, `shared` the convention of trajectories that do not tell by
    themselves; both are empty until the file was surveyed. `boot` is the machine's start during which the
    import ran.
    """

    signature: Signature
    boot: str = ""
    shared: Convention | None = None
    lines: dict[str, Line] = field(default_factory=dict)
    imported: dict[str, Imported] = field(default_factory=dict)


class Receipts:
    """The folder of receipts of a store."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, file: Path, signature: Signature) -> Receipt | None:
        """The receipt for this version of `file`, None where there is none that can be used."""
        try:
            record = orjson.loads(self._path(file).read_bytes())
            receipt = _from_record(record)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return receipt if receipt.signature == signature else None

    def save(self, file: Path, receipt: Receipt) -> None:
        """Keep a receipt, together with what another process has imported of the same file meanwhile."""
        other = self.load(file, receipt.signature)
        if other is not None and other.boot == receipt.boot:
            receipt.imported = {**other.imported, **receipt.imported}
        replace_hint(self._path(file), orjson.dumps(_to_record(file, receipt)))

    def _path(self, file: Path) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(file)).hexdigest()[:32]}.json"


def boot_id() -> str:
    """Names the current start of this machine; "" where it cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _to_record(file: Path, receipt: Receipt) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "file": os.fsencode(file).decode("utf-8", "replace"),
        "signature": receipt.signature,
        "boot": receipt.boot,
        "shared": receipt.shared,
        "lines": {i: [line.number, line.offset, line.length] for i, line in receipt.lines.items()},
        "imported": receipt.imported,
    }


def _from_record(record: dict[str, Any]) -> Receipt:
    if record["version"] != _VERSION:
        raise ValueError("a receipt of another version")
    return Receipt(
        signature=Signature(**record["signature"]),
        boot=record["boot"],
        shared=None if record["shared"] is None else Convention(record["shared"]),
        lines={i: Line(*line) for i, line in record["lines"].items()},
        imported={i: Imported(**done) for i, done in record["imported"].items()},
    )
