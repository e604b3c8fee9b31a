"""Only what is an image gets into the store, once, and never one that ends an agent's session."""

import io
import os
import struct
import zlib
from itertools import count
from pathlib import Path

import pytest
from PIL import Image as Pillow

from manifests.images import AGENT_SIDE, Image, ImageStore, NotAnImageError
from tests.manifests.recordings import picture, put


@pytest.fixture
def images(tmp_path: Path) -> ImageStore:
    return another(tmp_path)


def another(tmp_path: Path) -> ImageStore:
    """A store on the folder `images`, as another process would make it."""
    (tmp_path / "images").mkdir(exist_ok=True)
    numbers = count()
    return ImageStore(tmp_path / "images", lambda: tmp_path / f"new-{os.urandom(4).hex()}-{next(numbers)}")


def add(images: ImageStore, path: Path) -> Image:
    return images.add(os.fspath(path), path.lstat())


@pytest.mark.parametrize(
    ("kind", "extension"), [("PNG", "png"), ("JPEG", "jpg"), ("WEBP", "webp"), ("GIF", "gif")]
)
def test_the_extension_is_that_of_the_content(
    images: ImageStore, tmp_path: Path, kind: str, extension: str
) -> None:
    content = picture(kind=kind)
    image = add(images, put(tmp_path / "any.png", content))
    assert (image.extension, image.agent) == (extension, None)
    assert (tmp_path / "images" / image.name).read_bytes() == content


def test_the_same_picture_is_kept_once_whoever_adds_it(images: ImageStore, tmp_path: Path) -> None:
    one = add(images, put(tmp_path / "a.png", picture()))
    other = add(another(tmp_path), put(tmp_path / "b.png", picture()))
    assert one == other
    assert [path.name for path in (tmp_path / "images").iterdir()] == [one.name]
    assert not list(tmp_path.glob("new-*"))


def test_whoever_is_second_keeps_what_is_there(images: ImageStore, tmp_path: Path) -> None:
    path = put(tmp_path / "a.png", picture(2000, 10))
    second = another(tmp_path)
    image = add(images, path)
    first = {kept.name: kept.stat().st_ino for kept in (tmp_path / "images").iterdir()}
    # What a process does that looked before the other had written.
    second._put(image.name, path.read_bytes(), None)
    assert {kept.name: kept.stat().st_ino for kept in (tmp_path / "images").iterdir()} == first
    assert not list(tmp_path.glob("new-*"))


@pytest.mark.parametrize("which", ["name", "agent_name"])
def test_what_a_power_cut_shortened_is_written_anew(images: ImageStore, tmp_path: Path, which: str) -> None:
    path = put(tmp_path / "a.png", picture(2000, 10))
    image = add(images, path)
    kept = tmp_path / "images" / getattr(image, which)
    whole = kept.read_bytes()
    os.truncate(kept, 30)
    assert add(another(tmp_path), path) == image
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_large_picture_has_a_small_copy_for_agents(images: ImageStore, tmp_path: Path, kind: str) -> None:
    path = put(tmp_path / "large", picture(400, 3136, kind))
    image = add(images, path)
    assert image.agent is not None
    with Pillow.open(tmp_path / "images" / image.agent_name) as small:
        assert small.size == (200, AGENT_SIDE)
    assert (tmp_path / "images" / image.name).read_bytes() == path.read_bytes()
    assert add(another(tmp_path), path) == image


def test_a_palette_with_transparency_is_made_small_too(images: ImageStore, tmp_path: Path) -> None:
    target = io.BytesIO()
    Pillow.new("P", (2000, 10)).save(target, "PNG", transparency=0)
    assert add(images, put(tmp_path / "p.png", target.getvalue())).agent is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an image",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        picture()[:-20],
        picture(kind="JPEG")[:-200],
        picture().replace(b"IDAT", b"IDAX"),
    ],
)
def test_what_is_no_intact_image_is_refused(images: ImageStore, tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "x.png", content)
    for _ in range(2):
        with pytest.raises(NotAnImageError, match="is not an intact"):
            add(images, path)
    assert list((tmp_path / "images").iterdir()) == []


@pytest.mark.parametrize("side", [8_000, 60_000])
def test_a_decompression_bomb_is_refused(images: ImageStore, tmp_path: Path, side: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 10**6)) + chunk(b"IEND", b"")
    with pytest.raises(NotAnImageError, match="claims more than 50,000,000 pixels"):
        add(images, put(tmp_path / "bomb.png", bomb))


def test_a_file_of_gigabytes_is_refused_without_being_read(images: ImageStore, tmp_path: Path) -> None:
    path = put(tmp_path / "huge.png", picture())
    os.truncate(path, 2 * 2**30)
    with pytest.raises(NotAnImageError, match="larger than 64 MiB"):
        add(images, path)


def test_a_pipe_is_refused_without_waiting_for_a_writer(images: ImageStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(NotAnImageError, match="not a regular file"):
        add(images, tmp_path / "pipe.png")
