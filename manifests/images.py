"""Screenshots in the store: one verified copy per distinct picture, and a small one for agents.

`images/<sha256>.<ext>` is the original, `images/<sha256>.agent.<ext>` a copy whose longer side is 1,568 px, made
where the original is longer: one bigger picture can end an agent's session for good.
"""

import fcntl
import hashlib
import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .files import FILE_MODE, FIXED_TIMES, write_new

AGENT_SIDE: Final = 1568  # px
MAX_BYTES: Final = 64 * 2**20  # of an image file
MAX_PIXELS: Final = 50_000_000  # of a decoded image: a few kilobytes of file can claim gigabytes of pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

_EXTENSIONS = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif"}
_FICLONE = 0x40049409  # ioctl: share the blocks of another file, copy on write


class NotAnImage(ValueError):
    """Why a file cannot serve as a screenshot; part of a sentence."""


@dataclass(frozen=True, slots=True)
class Image:
    """A verified picture of the store. `agent` is the extension of its small copy, None where none is needed."""

    sha256: str
    extension: str
    agent: str | None

    @property
    def name(self) -> str:
        return f"{self.sha256}.{self.extension}"

    @property
    def agent_name(self) -> str | None:
        return f"{self.sha256}.agent.{self.agent}" if self.agent else None


class ImageStore:
    """Adds pictures to `folder`. Remembers files by inode, so that a picture used often is read once."""

    def __init__(self, folder: Path, temporary: Callable[[], Path]) -> None:
        self._folder = folder
        self._temporary = temporary
        self._known: dict[tuple[int, int, int, int], Image | NotAnImage] = {}
        self._can_clone = True

    def add(self, path: str) -> Image:
        """The picture in the regular file `path` (its last part is never followed as a link).

        Raises NotAnImage for what cannot be shown to a model, OSError for what cannot be read or written.
        """
        found = os.lstat(path)
        key = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(key)
        if known is None:
            known = self._read(path)
            self._known[key] = known
        if isinstance(known, NotAnImage):
            raise known
        return known

    def _read(self, path: str) -> Image | NotAnImage:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(source).st_size
            if size > MAX_BYTES:
                return NotAnImage(f"is larger than {MAX_BYTES >> 20} MiB")
            with open(source, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
            digest = hashlib.sha256(data).hexdigest()
            known = self._stored(digest)
            if known:
                return known
            try:
                extension, small = verified(data)
            except NotAnImage as error:
                return error
            image = Image(digest, extension, small[0] if small else None)
            if small and image.agent_name:
                self._put(image.agent_name, small[1], None)
            # The original comes last: where it is, its small copy is too.
            self._put(image.name, data, source)
            return image
        finally:
            os.close(source)

    def _stored(self, digest: str) -> Image | None:
        for extension in _EXTENSIONS.values():
            if (self._folder / f"{digest}.{extension}").exists():
                small = (e for e in _EXTENSIONS.values() if (self._folder / f"{digest}.agent.{e}").exists())
                return Image(digest, extension, next(small, None))
        return None

    def _put(self, name: str, data: bytes, source: int | None) -> None:
        temporary = self._temporary()
        if source is None or not self._clone(source, temporary, len(data)):
            write_new(os.fspath(temporary), data)
        # Another process may have been first; its bytes are the same.
        temporary.replace(self._folder / name)

    def _clone(self, source: int, target: Path, size: int) -> bool:
        """Share the blocks of `source` where the file system can; the user's file stays out of reach."""
        if not self._can_clone:
            return False
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            before = os.fstat(source)
            fcntl.ioctl(fd, _FICLONE, source)
            after = os.fstat(source)
            if (after.st_size, after.st_mtime_ns) == (size, before.st_mtime_ns):
                os.fchmod(fd, FILE_MODE)
                os.utime(fd, ns=FIXED_TIMES)
                return True
        except OSError:
            self._can_clone = False
        finally:
            os.close(fd)
        target.unlink()
        return False


def verified(data: bytes) -> tuple[str, tuple[str, bytes] | None]:
    """The extension of a picture and, where a side is over AGENT_SIDE, (extension, bytes) of its small copy."""
    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)
            with Pillow.open(io.BytesIO(data), formats=tuple(_EXTENSIONS)) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise NotAnImage(f"claims {width} x {height} pixels, over the limit of {MAX_PIXELS:,}")
                extension = _EXTENSIONS[image.format or ""]
                large = max(width, height) > AGENT_SIDE
                if image.format == "PNG" and not large:
                    image.verify()  # checks the sums of every chunk, without decoding
                else:
                    image.load()
                return extension, _small(image) if large else None
    except NotAnImage:
        raise
    except Exception as error:  # Pillow's decoders raise whatever the broken bytes led them to
        raise NotAnImage("is not an intact PNG, JPEG, WebP or GIF image") from error


def _small(image: "PillowImage") -> tuple[str, bytes]:
    photo = image.format == "JPEG"
    if image.mode not in ("RGB", "RGBA", "L"):
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    image.thumbnail((AGENT_SIDE, AGENT_SIDE))
    target = io.BytesIO()
    if photo:
        image.save(target, "JPEG", quality=90)
        return "jpg", target.getvalue()
    image.save(target, "PNG")
    return "png", target.getvalue()
