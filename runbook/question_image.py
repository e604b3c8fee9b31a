"""A question's picture as an agent gets it: verified, small enough for every model, without metadata."""

from pathlib import Path

from PIL import Image, ImageOps

LONGEST_SIDE = 1568
_MAX_PIXELS = 100_000_000
_MAX_BYTES = 64 * 1024 * 1024
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


class UnusableImageError(OSError):
    """The file is no picture that can be shown."""


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


def _load(source: Path) -> Image.Image:
    try:
        too_large = source.stat().st_size > _MAX_BYTES
        with Image.open(source, formats=_FORMATS) as opened:
            if not too_large and opened.width * opened.height <= _MAX_PIXELS:
                return _plain(ImageOps.exif_transpose(opened))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnusableImageError(f"question image {source} cannot be read as a picture: {error}") from error
    raise UnusableImageError(
        f"question image {source} is larger than {_MAX_BYTES:,} bytes or {_MAX_PIXELS:,} pixels"
    )


def _plain(picture: Image.Image) -> Image.Image:
    """A copy in a mode that every viewer understands."""
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")
