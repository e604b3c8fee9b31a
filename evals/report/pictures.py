"""Screenshots in a report: found in the run's store by their digests, and drawn small."""

import base64
import hashlib
import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from PIL import Image

from manifests.entry import Entry, Screenshot
from manifests.store import Store, StoreError
from runbook.untrusted_files import UnreadableFile, read_untrusted

PICTURE_BYTES = 40_000_000
_MOST_PIXELS = 60_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_RUNGS = ((720, 60), (560, 52), (420, 46), (320, 42), (240, 38), (190, 32), (150, 26), (120, 20))
"""Widths in pixels and WebP qualities, the best first."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A picture drawn small; `uri` is a data URI."""

    uri: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class StateHead:
    """What a recorded state says of itself before its observation; "" for what it lacks."""

    url: str = ""
    action: str = ""
    thought: str = ""


class Archive:
    """The recorded trajectories of a run, as far as its store is still there."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.problem = ""
        """Why there is nothing to be found; "" where there is."""

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """The trajectories by original id; none where there is no store."""
        if not (self._root / "FORMAT").is_file():
            self.problem = "The run's store is not where it was, so screenshots and states cannot be shown."
            return {}
        try:
            return {entry.id: entry for entry in Store.open(self._root).entries()}
        except StoreError as error:
            self.problem = f"Screenshots and states cannot be shown: {error}"
            return {}

    def screenshot(self, trajectory: str, index: int) -> Screenshot | None:
        """The screenshot of a state, None where there is none."""
        entry = self.entries.get(trajectory)
        return entry.screenshot(index) if entry else None

    def head(self, trajectory: str, index: int) -> StateHead:
        """The header of a state; empty where it is not there."""
        entry = self.entries.get(trajectory)
        if entry is None or not 0 <= index < entry.states:
            return StateHead()
        try:
            with entry.state_path(index).open("rb") as file:
                text = file.read(16_384).decode("utf-8", "replace")
        except OSError:
            return StateHead()
        return _head(text)


def _head(text: str) -> StateHead:
    found: dict[str, str] = {}
    name = ""
    for line in text.split("\n\n", 1)[0].split("\n"):
        if line.startswith("  ") and name:
            found[name] += "\n" + line[2:]
        else:
            name, _, found[name] = line.partition(": ")
    return StateHead(found.get("url", ""), found.get("action", ""), found.get("thought", ""))


class Studio:
    """Draws pictures small, each once for each size."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[str, int], Thumbnail | None] = {}
        self._rung = 0

    def draw(self, pictures: Sequence[Screenshot], room: int) -> list[Thumbnail | None]:
        """Thumbnails that together take at most `room` bytes; None for what cannot be shown.

        The size is that of the question before where it fits: most questions of a run need the same.
        """
        for rung in range(self._rung, len(_RUNGS)):
            made = [self._thumbnail(one, rung) for one in pictures]
            if sum(len(one.uri) for one in made if one) <= room:
                self._rung = max(0, rung - 1) if rung > self._rung else rung
                return made
        left, fitting = room, []
        for thumbnail in made if pictures else []:
            left -= len(thumbnail.uri) if thumbnail else 0
            fitting.append(thumbnail if left >= 0 else None)
        return fitting

    def _thumbnail(self, picture: Screenshot, rung: int) -> Thumbnail | None:
        key = (picture.sha256, rung)
        if key not in self._drawn:
            data = picture_bytes(picture)
            self._drawn[key] = thumbnail(data, *_RUNGS[rung]) if data else None
        return self._drawn[key]


def picture_bytes(picture: Screenshot) -> bytes | None:
    """The bytes of a recorded picture, if they are still those that were recorded."""
    try:
        data = read_untrusted(picture.path, PICTURE_BYTES)
    except UnreadableFile:
        return None
    return data if hashlib.sha256(data).hexdigest() == picture.sha256 else None


def thumbnail(data: bytes, width: int, quality: int) -> Thumbnail | None:
    """A picture drawn small as WebP; None for what is no picture or a giant one."""
    logging.getLogger("PIL").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            warnings.simplefilter("ignore")
            if image.width * image.height > _MOST_PIXELS:
                return None
            image.draft("RGB", (width, width))
            small = image.convert("RGB")
        small.thumbnail((width, 2 * width), Image.Resampling.BICUBIC, reducing_gap=1.2)
        buffer = io.BytesIO()
        small.save(buffer, "WEBP", quality=quality, method=1)
    except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError, Image.DecompressionBombError):
        return None
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return Thumbnail(f"data:image/webp;base64,{encoded}", small.width, small.height)
