"""What the store knows of a trajectory without reading it: the record in parts/entry.json."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from .images import Image, Small
from .model import Convention, Trajectory

ENTRY_FILE = "parts/entry.json"
_SAME = ("id", "digest", "domain", "goal", "start_url", "outcome", "states", "size")


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A state's original screenshot, for the reader."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A trajectory in the store. `digest` is the sha256 (hex) of its trajectory.json."""

    slug: str
    id: str
    digest: str
    domain: str
    goal: str
    start_url: str
    outcome: str | None
    states: int
    convention: Convention
    size: int  # bytes of all files but the entry's own
    path: Path
    pictures: str  # a line for each screenshot, read only where one is asked for: a view has ten thousand

    @property
    def images(self) -> dict[int, Image]:
        """The pictures by state, in order."""
        return dict(_image(line) for line in self.pictures.splitlines())

    def state_path(self, index: int) -> Path:
        """The text of a state."""
        return self.path / "states" / f"{index:04d}.txt"

    def screenshot(self, index: int) -> Screenshot | None:
        """The original screenshot of a state, None where there is none."""
        image = self.images.get(index)
        if image is None:
            return None
        return Screenshot(self.path / "screenshots" / f"{index:04d}.{image.extension}", image.sha256)


def entry_record(
    trajectory: Trajectory, digest: str, convention: Convention, images: Mapping[int, Image], size: int
) -> bytes:
    """The text of parts/entry.json; `size` is that of all other files of the folder, in bytes."""
    record = {
        "size": size,
        "id": trajectory.id,
        "digest": digest,
        "domain": trajectory.domain,
        "goal": trajectory.goal,
        "start_url": trajectory.start_url,
        "outcome": trajectory.outcome,
        "states": len(trajectory.states),
        "convention": convention,
        "pictures": _lines(images),
    }
    return orjson.dumps(record)


def read_entry(path: Path) -> Entry:
    """The entry of the trajectory folder `path`, also one that an earlier version wrote.

    Raises OSError, ValueError, TypeError or KeyError where it is damaged.
    """
    # By descriptor: a view that is there is found in a few milliseconds, five hundred of these included.
    fd = os.open(f"{path}/{ENTRY_FILE}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)
    return parsed_entry(path, data)


def parsed_entry(path: Path, data: bytes) -> Entry:
    """The entry of the trajectory folder `path` from the text of its entry.json."""
    record = orjson.loads(data)
    return Entry(
        slug=path.name,
        path=path,
        convention=Convention(record["convention"]),
        pictures=record["pictures"] if "pictures" in record else _pictures(record["images"]),
        **{name: record[name] for name in _SAME},
    )


def folder_size(path: Path) -> int:
    """The bytes of all files of a trajectory folder, the entry's own left out."""
    total = 0
    for folder in (path, path / "states", path / "screenshots", path / "parts"):
        with os.scandir(folder) as found:
            total += sum(one.stat().st_size for one in found if one.is_file())
    try:
        return total - (path / ENTRY_FILE).stat().st_size
    except FileNotFoundError:
        return total


def is_intact(path: Path) -> bool:
    """Whether the folder's files are as long as they were written; a power cut can leave them shorter."""
    try:
        return read_entry(path).size == folder_size(path)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _pictures(images: dict[str, list[Any]]) -> str:
    """The pictures of an older record: lists of sha256, extension, and those of the small copy."""
    found = {}
    for index, (sha256, extension, *small) in images.items():
        found[int(index)] = Image(sha256, extension, Small(*small) if small else None)
    return _lines(found)


def _lines(images: Mapping[int, Image]) -> str:
    return "\n".join(_picture(index, image) for index, image in images.items())


def _picture(index: int, image: Image) -> str:
    small = f" {image.agent.extension} {image.agent.sha256}" if image.agent else ""
    return f"{index} {image.extension} {image.sha256}{small}"


def _image(line: str) -> tuple[int, Image]:
    index, extension, sha256, *small = line.split(" ")
    return int(index), Image(sha256, extension, Small(small[1], small[0]) if small else None)
