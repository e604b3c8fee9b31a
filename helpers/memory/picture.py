"""Make pictures from screenshots, with Pillow where it is installed."""

from __future__ import annotations

import os

from .failure import HelperError
from .haystack import Workspace
from .image import IMAGES
from .page import quote
from .writing import make_folder, write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

MOST_SIDE = 1_568  # pixels; agents' models take no more
MOST_PIXELS = 40_000_000
COLUMNS = 4
CELL = (384, 290)  # the number above, the screenshot below
LABEL = 18
PER_SHEET = COLUMNS * (MOST_SIDE // CELL[1])


def crop(
    workspace: Workspace, path: str, name: str, box: tuple[int, int, int, int] | None, scale: float
) -> str:
    """Cut `box` (x, y, width, height) out of a screenshot, scale it, and write it; the new path.

    Raises:
        HelperError: no Pillow, not an image, or the box lies outside of it.
    """
    pillow = _pillow()
    with _opened(pillow, path) as picture:
        x, y, width, height = box or (0, 0, *picture.size)
        if width < 1 or height < 1 or x + width > picture.size[0] or y + height > picture.size[1]:
            raise HelperError(
                f"the screenshot is {picture.size[0]} x {picture.size[1]} pixels; keep X+W and Y+H inside"
            )
        part = picture.convert("RGB").crop((x, y, x + width, y + height))
    scale = min(scale, MOST_SIDE / width, MOST_SIDE / height)
    part = part.resize((max(1, round(width * scale)), max(1, round(height * scale))), pillow.LANCZOS)
    return _write(workspace, f"{name}-{x}-{y}-{width}-{height}-x{scale:.2f}.png", _encoded(part, "PNG"))


def contact_sheet(workspace: Workspace, slug: str, screenshots: list[tuple[int, str]]) -> str:
    """Draw screenshots (state, path) with their numbers, PER_SHEET at most; the path of the sheet.

    A sheet that was drawn before is not drawn again.

    Raises:
        HelperError: no Pillow, or a screenshot is no image.
    """
    name = f"{slug}-contact-{screenshots[0][0]}-{screenshots[-1][0]}.jpg"
    drawn = os.path.join(workspace.root, IMAGES, name)
    if os.path.isfile(drawn):
        return drawn
    return _write(workspace, name, draw_sheet(screenshots))


def draw_sheet(screenshots: list[tuple[int, str]]) -> bytes:
    """The JPEG of a contact sheet of these screenshots (state, path), PER_SHEET at most.

    Raises:
        HelperError: no Pillow, or a screenshot is no image.
    """
    pillow = _pillow()
    draw = __import__("PIL.ImageDraw", fromlist=["Draw"])
    rows = -(-len(screenshots) // COLUMNS)
    sheet = pillow.new("RGB", (CELL[0] * min(COLUMNS, len(screenshots)), CELL[1] * rows), "white")
    pen = draw.Draw(sheet)
    small: dict[str, Any] = {}
    for place, (index, path) in enumerate(screenshots):
        left, top = place % COLUMNS * CELL[0], place // COLUMNS * CELL[1]
        if path not in small:
            with _opened(pillow, path) as picture:
                small[path] = picture.convert("RGB")
            small[path].thumbnail((CELL[0] - 4, CELL[1] - LABEL - 4))
        sheet.paste(small[path], (left + 2, top + LABEL))
        pen.text((left + 4, top + 3), f"state {index}", fill="black")
    return _encoded(sheet, "JPEG")


def _pillow() -> ModuleType:
    """PIL.Image; the command starts without site-packages, so they are made known here."""
    try:
        return _imported()
    except ImportError:
        import site

        site.main()
    try:
        return _imported()
    except ImportError:
        raise HelperError(
            "this needs Pillow, which this Python has not; open the whole screenshot instead"
        ) from None


def _imported() -> ModuleType:
    module: ModuleType = __import__("PIL.Image", fromlist=["Image"])
    return module


def _opened(pillow: ModuleType, path: str) -> Any:
    try:
        picture = pillow.open(path)
        if picture.size[0] * picture.size[1] > MOST_PIXELS:
            raise HelperError(f"{path} has {picture.size[0]} x {picture.size[1]} pixels: too many")
        picture.load()
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise HelperError(f"{path} is no image that can be read: {quote(str(error))}") from None
    return picture


def _encoded(picture: Any, form: str) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    picture.save(buffer, form, quality=85)
    return buffer.getvalue()


def _write(workspace: Workspace, name: str, content: bytes) -> str:
    folder = os.path.join(workspace.root, IMAGES)
    make_folder(folder)
    path = os.path.join(folder, name)
    write_whole(path, content)
    return path
