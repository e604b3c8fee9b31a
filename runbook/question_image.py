"""A question's picture as an agent gets it: verified, small enough for every model, without metadata."""

import warnings
from pathlib import Path

from PIL import Image, ImageOps

LONGEST_SIDE = 1568
_MAX_PIXELS = 100_000_000
_MAX_BYTES = 64 * 1024 * 1024
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


class UnusableImageError(OSError):
    """The file is no picture that can be shown; `problem` says why, without the file's name."""

    def __init__(self, source: Path, problem: str) -> None:
        super().__init__(f"question image {source} {problem}")
        self.problem = problem


def write_question_image(source: Path, target: Path) -> None:
    """Write `source` as a PNG whose sides are at most 1,568 pixels; its first frame, upright, no metadata.

    Raises:
        UnusableImageError: it is missing, too large, or none of PNG, JPEG, WebP and GIF.
        OSError: the target cannot be written.
    """
    picture = _load(source)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    picture.info.clear()
    picture.save(target, format="PNG", compress_level=1)


def check_question_image(source: Path) -> None:
    """Read every pixel and write nothing. Raises UnusableImageError where `write_question_image` would."""
    _load(source)


def _load(source: Path) -> Image.Image:
    try:
        size = source.stat().st_size
        problem = f"has {size:,} bytes, more than {_MAX_BYTES:,}" if size > _MAX_BYTES else ""
        with warnings.catch_warnings():
            # The size is judged here, before any pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(source, formats=_FORMATS) as opened:
                if opened.width * opened.height > _MAX_PIXELS:
                    problem = f"has {opened.width} x {opened.height} pixels, more than {_MAX_PIXELS:,}"
                if not problem:
                    return _plain(ImageOps.exif_transpose(opened))
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UnusableImageError(source, f"cannot be read as a picture: {_reason(error)}") from error
    raise UnusableImageError(source, problem)


def _plain(picture: Image.Image) -> Image.Image:
    """A copy in a mode that every viewer understands."""
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = str(error).partition(" '")[0] or type(error).__name__  # Pillow repeats the whole path
    return "it is none of PNG, JPEG, WebP and GIF" if said.startswith("cannot identify") else said
