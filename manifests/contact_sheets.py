"""Contact sheets: the screenshots of a trajectory with their numbers, drawn once and kept in the store.

Drawing takes some 15 ms a screenshot, and a haystack has ten thousand. So sheets are drawn when a view is
built, off every clock, a few at a time; a view shows those that are there by then, and never changes later.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .entry import Entry
from .files import FOLDER_MODE, make_folder, seal_folder, write_new
from .images import Image
from .incoming import Incoming
from .store import Store

SHEETS_FOLDER: Final = "sheets"  # of the store
MOST_PICTURES: Final = 60  # drawn for one view: about a second


@dataclass(frozen=True, slots=True)
class SheetDrawing:
    """How a sheet is drawn: from the numbers and files of at most `per_sheet` screenshots to a JPEG.

    `draw` raises ValueError or OSError for what it cannot draw.
    """

    draw: Callable[[list[tuple[int, str]]], bytes]
    per_sheet: int


def draw_sheets(store: Store, entries: Sequence[Entry], drawing: SheetDrawing) -> int:
    """Draw missing sheets, of whole trajectories and of MOST_PICTURES at most; how many pictures it were.

    A trajectory that cannot be drawn or kept is left without: agents can draw their own.
    """
    drawn = 0
    for entry in entries:
        if drawn >= MOST_PICTURES:
            break
        if not entry.pictures or _folder(entry).exists():
            continue
        images = entry.images
        pictures = len({image.sha256 for image in images.values()})
        if drawn + pictures > MOST_PICTURES:
            continue
        drawn += pictures
        try:
            _keep(store, entry, _sheets(entry, images, drawing))
        except (OSError, ValueError):
            continue
    return drawn


def sheet_files(entry: Entry) -> list[Path]:
    """The sheets that are there, by name contact-<first state>-<last state>.jpg."""
    try:
        return sorted(_folder(entry).iterdir()) if entry.pictures else []
    except FileNotFoundError:
        return []


def _folder(entry: Entry) -> Path:
    return entry.path.parent.parent / SHEETS_FOLDER / entry.slug


def _sheets(entry: Entry, images: dict[int, Image], drawing: SheetDrawing) -> dict[str, bytes]:
    """The sheets by name. A picture shown by several states is named by one path, to be read once."""
    paths: dict[str, str] = {}
    shown = []
    for index, image in images.items():
        name = f"{index:04d}.{image.extension}"
        if image.agent:
            name = f"{index:04d}.agent.{image.agent.extension}"
        shown.append((index, paths.setdefault(image.sha256, f"{entry.path}/screenshots/{name}")))
    sheets = {}
    for start in range(0, len(shown), drawing.per_sheet):
        part = shown[start : start + drawing.per_sheet]
        sheets[f"contact-{part[0][0]:04d}-{part[-1][0]:04d}.jpg"] = drawing.draw(part)
    return sheets


def _keep(store: Store, entry: Entry, sheets: dict[str, bytes]) -> None:
    with Incoming(store.incoming) as incoming:
        temporary = incoming.new_path()
        folder = make_folder(os.fspath(temporary))
        for name, content in sheets.items():
            write_new(name, content, folder)
        seal_folder(folder)
        final = _folder(entry)
        final.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        temporary.rename(final)
