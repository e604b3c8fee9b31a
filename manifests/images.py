"""Screenshots in the store: one verified copy per distinct picture, and a small one for agents.

`images/<sha256>.<ext>` is the original, `images/<sha256>.agent.<ext>` a copy whose longer side is 1,568 px,
made where the original is longer: one bigger picture can end an agent's session for good.
"""

import fcntl
import hashlib
import io
import os
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .files import FILE_MODE, FIXED_TIMES, reporting, write_new
from .linking import NO_LINK

AGENT_SIDE: Final = 1568  # px
MAX_BYTES: Final = 64 * 2**20  # of an image file
MAX_PIXELS: Final = 50_000_000  # of a decoded image: a few kilobytes of file can claim gigabytes of pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

_EXTENSIONS = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif"}
_FICLONE = 0x40049409  # ioctl: share the blocks of another file, copy on write


class NotAnImageError(ValueError):
    """Why a file cannot serve as a screenshot; part of a sentence."""


@dataclass(frozen=True, slots=True)
class Small:
    """A picture's copy for agents."""

    sha256: str
    extension: str


@dataclass(frozen=True, slots=True)
class Image:
    """A verified picture of the store. `agent` is its small copy, None where the original is small enough."""

    sha256: str
    extension: str
    agent: Small | None

    @property
    def name(self) -> str:
        return f"{self.sha256}.{self.extension}"

    @property
    def agent_name(self) -> str:
        return f"{self.sha256}.agent.{self.agent.extension}" if self.agent else ""


class ImageStore:
    """Adds pictures to `folder`. Remembers files by inode, so that a picture used often is read once."""

    def __init__(self, folder: Path, temporary: Callable[[], Path]) -> None:
        self._folder = folder
        self._temporary = temporary
        self._known: dict[tuple[int, int, int, int], Image | NotAnImageError] = {}
        self._can_clone = True

    def add(self, path: str, found: os.stat_result) -> Image:
        """The picture in the file `path`, whose lstat is `found`.

        Raises NotAnImageError for what cannot be shown to a model, OSError for what cannot be read,
        StoreError where the store cannot be written.
        """
        if not stat.S_ISREG(found.st_mode):
            raise NotAnImageError("is not a regular file")
        key = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        known = self._known.get(key)
        if known is None:
            known = self._read(path)
            self._known[key] = known
        if isinstance(known, NotAnImageError):
            raise known
        return known

    def _read(self, path: str) -> Image | NotAnImageError:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(source).st_size
            if size > MAX_BYTES:
                return NotAnImageError(f"is larger than {MAX_BYTES >> 20} MiB")
            with open(source, "rb", closefd=False) as file:
                data = file.read(MAX_BYTES + 1)
            digest = hashlib.sha256(data).hexdigest()
            known = self._stored(digest, len(data))
            if known:
                return known
            try:
                extension, small = verified(data)
            except NotAnImageError as error:
                return error
            image = Image(digest, extension, None)
            if small:
                image = Image(digest, extension, Small(hashlib.sha256(small[1]).hexdigest(), small[0]))
                self._put(image.agent_name, small[1], None)
            # The original comes last: where it is, its small copy is too.
            self._put(image.name, data, source)
            return image
        finally:
            os.close(source)

    def _stored(self, digest: str, size: int) -> Image | None:
        """The picture where it is there already, and whole: a power cut can leave files shorter."""
        for extension in _EXTENSIONS.values():
            path = self._folder / f"{digest}.{extension}"
            if path.exists() and path.stat().st_size == size:
                try:
                    return Image(digest, extension, self._stored_small(digest))
                except NotAnImageError:
                    return None
        return None

    def _stored_small(self, digest: str) -> Small | None:
        for extension in _EXTENSIONS.values():
            path = self._folder / f"{digest}.agent.{extension}"
            if path.exists():
                data = path.read_bytes()
                verified(data)
                return Small(hashlib.sha256(data).hexdigest(), extension)
        return None

    def _put(self, name: str, data: bytes, source: int | None) -> None:
        temporary = self._temporary()
        with reporting(f"cannot write to {self._folder}"):
            if source is None or not self._clone(source, temporary, len(data)):
                write_new(os.fspath(temporary), data)
            _keep(temporary, self._folder / name, len(data))

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


def _keep(new: Path, target: Path, size: int) -> None:
    """Give a finished file its name, unless another process did so before with the same bytes."""
    try:
        target.hardlink_to(new)
    except FileExistsError:
        if target.stat().st_size == size:
            new.unlink()
            return
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
    else:
        new.unlink()
        return
    new.replace(target)


def verified(data: bytes) -> tuple[str, tuple[str, bytes] | None]:
    """A picture's extension and, where a side is over AGENT_SIDE, its small copy's (extension, bytes)."""
    from PIL import Image as Pillow

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Pillow.DecompressionBombWarning)
            with Pillow.open(io.BytesIO(data), formats=tuple(_EXTENSIONS)) as image:
                return _checked(image)
    except NotAnImageError:
        raise
    except Pillow.DecompressionBombError as error:
        raise NotAnImageError(f"claims more than {MAX_PIXELS:,} pixels") from error
    except Exception as error:  # Pillow's decoders raise whatever the broken bytes led them to
        raise NotAnImageError("is not an intact PNG, JPEG, WebP or GIF image") from error


def _checked(image: "PillowImage") -> tuple[str, tuple[str, bytes] | None]:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise NotAnImageError(f"claims more than {MAX_PIXELS:,} pixels")
    extension = _EXTENSIONS[image.format or ""]
    if max(width, height) > AGENT_SIDE:
        return extension, _small(image)
    if image.format == "PNG":
        image.verify()  # checks the sums of every chunk, without decoding
    else:
        image.load()
    return extension, None


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
