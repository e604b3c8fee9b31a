"""Screenshots: where one lies, a part of it enlarged, or all of a trajectory on one sheet."""

from __future__ import annotations

import os

from .arguments import NUMBER, TEXT, Arguments, Verb
from .failure import FOUND, NOTHING_FOUND, HelperError
from .haystack import Workspace, compact, screenshot, with_screenshots
from .page import Page, quote
from .state import one_state

IMAGES = os.path.join("notes", "images")
HEAD_BYTES = 256 * 1024  # in which a JPEG's size is looked for


def image(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """Path and size of a state's screenshot, or of the part cut out of it."""
    slug, where = one_state(arguments, workspace)
    index = workspace.index(slug, where)
    path = screenshot(workspace, slug, index)
    if path is None:
        others = with_screenshots(workspace, slug)
        known = f"states {compact(others)} have one" if others else "no state of it has one"
        page.foot(
            f"state {index} of {slug} has no screenshot; {known}. Its text: memory state {slug} {index}"
        )
        return NOTHING_FOUND
    if arguments.has("crop") or arguments.has("scale"):
        from .picture import crop

        box = _box(arguments.text("crop")) if arguments.has("crop") else None
        path = crop(workspace, path, f"{slug}-{index:04d}", box, _scale(arguments.text("scale", "1")))
    _tell(path, page)
    return FOUND


def contact(arguments: Arguments, workspace: Workspace, page: Page) -> int:
    """A sheet of a trajectory's screenshots with their state numbers."""
    slug = workspace.find(arguments.word(0))
    indices = with_screenshots(workspace, slug)
    first = arguments.number("from", 0)
    wanted = [index for index in indices if index >= first]
    if not wanted:
        page.foot(f"{slug} has no screenshots" + (f" from state {first}" if first else ""))
        return NOTHING_FOUND
    from .picture import PER_SHEET, contact_sheet

    shown, left = wanted[:PER_SHEET], wanted[PER_SHEET:]
    path = os.path.join(workspace.trajectories, slug, f"contact-{shown[0]:04d}-{shown[-1]:04d}.jpg")
    if not os.path.isfile(path):
        screenshots = [(index, screenshot(workspace, slug, index) or "") for index in shown]
        path = contact_sheet(workspace, slug, screenshots)
    page.line(f"# {slug}: screenshots of states {compact(shown)}")
    _tell(path, page)
    if left:
        page.foot(f"… {len(left)} more: memory contact {slug} --from {left[0]}")
    return FOUND


def size(path: str) -> tuple[int, int] | None:
    """Width and height in pixels from the head of an image file, or None."""
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    for start, read in ((b"\x89PNG", _png), (b"GIF8", _gif), (b"\xff\xd8", _jpeg), (b"RIFF", _webp)):
        if head.startswith(start):
            return read(head)
    return None


def _tell(path: str, page: Page) -> None:
    page.line(path)
    pixels = size(path)
    across = f"{pixels[0]} x {pixels[1]} pixels" if pixels else "of unknown size"
    page.line(f"{across}, {os.path.getsize(path)} bytes")
    page.foot("look at it with your own image viewing or file reading tool, by this path")


def _box(text: str) -> tuple[int, int, int, int]:
    parts = text.split(",")
    if len(parts) != 4 or not all(part.strip().isdigit() and len(part) < 7 for part in parts):
        raise HelperError(f"--crop takes X,Y,W,H in pixels, not {quote(text)}")
    x, y, width, height = map(int, parts)
    return x, y, width, height


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0.1 <= scale <= 8:
        raise HelperError(f"--scale takes a number from 0.1 to 8, not {quote(text)}")
    return scale


def _number(raw: bytes, start: int, length: int, order: str = "big") -> int:
    return int.from_bytes(raw[start : start + length], order)  # type: ignore[arg-type]


def _png(head: bytes) -> tuple[int, int]:
    return _number(head, 16, 4), _number(head, 20, 4)


def _gif(head: bytes) -> tuple[int, int]:
    return _number(head, 6, 2, "little"), _number(head, 8, 2, "little")


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return _number(head, 24, 3, "little") + 1, _number(head, 27, 3, "little") + 1
    if kind == b"VP8L":
        bits = _number(head, 21, 4, "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return _number(head, 26, 2, "little") & 0x3FFF, _number(head, 28, 2, "little") & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(head) and head[place] == 0xFF:
        marker = head[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _number(head, place + 7, 2), _number(head, place + 5, 2)
        place += 2 + _number(head, place + 2, 2)
    return None


VERBS = {
    "image": Verb(
        "image ID N [--crop X,Y,W,H] [--scale S]",
        "Print the path and size of a state's screenshot, to be opened with your own image tool. --crop and\n"
        "--scale (0.1 to 8) write a part of it, enlarged, to notes/images (needs Pillow).",
        image,
        instead="it without --scale, or a smaller part (--crop)",
        words=(1, 2),
        options={"crop": TEXT, "scale": TEXT},
    ),
    "contact": Verb(
        "contact ID [--from N]",
        "Print the path of a sheet with the screenshots of a trajectory and their state numbers. Where the\n"
        "haystack has none it is written to notes/images (needs Pillow).",
        contact,
        instead="single pictures (memory image ID N)",
        words=(1, 1),
        options={"from": NUMBER},
    ),
}
