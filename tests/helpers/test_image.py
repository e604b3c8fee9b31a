"""Screenshots: found, measured, cut and put on a sheet."""

import io
import struct
from pathlib import Path
from typing import Any

import pytest
from PIL import Image


def picture(extension: str, size: tuple[int, int] = (40, 30)) -> bytes:
    """An image file of that form, red on the left and blue on the right."""
    image = Image.new("RGB", size, "blue")
    image.paste("red", (0, 0, size[0] // 2, size[1]))
    buffer = io.BytesIO()
    image.save(
        buffer,
        {"jpg": "JPEG"}.get(extension, extension.upper()),
        **({"lossless": True} if extension == "webp" else {}),
    )
    return buffer.getvalue()


@pytest.mark.parametrize("extension", ["png", "jpg", "webp", "gif"])
def test_the_path_and_size_of_a_screenshot_are_told(
    extension: str, new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    raw = picture(extension, (123, 45))
    slug = view.add("seen", [recorded("a"), recorded("b", image=(raw, extension))])
    view.finish()
    out = workspace.memory("image", slug, "1").out
    assert out.splitlines()[:2] == [
        str(workspace.root / "haystack" / "trajectories" / slug / f"0001.{extension}"),
        f"123 x 45 pixels, {len(raw)} bytes",
    ]
    missing = workspace.memory("image", slug, "0")
    assert missing.code == 1
    assert "states 1 have one" in missing.out


def test_a_part_is_cut_out_and_enlarged(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    slug = view.add("seen", [recorded("a", image=(picture("png"), "png"))])
    view.finish()
    done = workspace.memory("image", slug, "0", "--crop", "20,0,10,10", "--scale", "3")
    assert done.code == 0, done.err
    path = Path(done.out.splitlines()[0])
    assert path.parent == workspace.root / "notes" / "images"
    with Image.open(path) as part:
        assert part.size == (30, 30)
        assert part.getpixel((15, 15)) == (0, 0, 255)


def test_a_sheet_shows_all_screenshots_within_what_a_model_takes(
    new_view: Any, workspace: Any, recorded: Any
) -> None:
    view = new_view()
    slug = view.add("seen", [recorded("a", image=(picture("png", (640, 360)), "png")) for _ in range(25)])
    view.finish()
    done = workspace.memory("contact", slug)
    assert done.code == 0, done.err
    with Image.open(done.out.splitlines()[1]) as sheet:
        assert max(sheet.size) <= 1568
    assert f"memory contact {slug} --from 20" in done.out
    assert "screenshots of states 20-24" in workspace.memory("contact", slug, "--from", "20").out


def test_a_sheet_that_the_haystack_has_is_not_drawn(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    slug = view.add("seen", [recorded("a", image=(picture("png"), "png")) for _ in range(25)])
    ready = view.root / "trajectories" / slug / "contact-0000-0019.jpg"
    ready.write_bytes(picture("jpg", (1536, 1450)))
    view.finish()
    done = workspace.memory("contact", slug)
    assert done.out.splitlines()[:3] == [
        f"# {slug}: screenshots of states 0-19",
        str(ready),
        f"1536 x 1450 pixels, {ready.stat().st_size} bytes",
    ]
    assert f"memory contact {slug} --from 20" in done.out
    assert workspace.files() == {}


@pytest.mark.parametrize("crop", ["0,0,41,10", "0,0,0,0", "-1,0,5,5", "a", "1,2,3", "40,30,1,1"])
def test_a_part_outside_is_refused(crop: str, new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    slug = view.add("seen", [recorded("a", image=(picture("png"), "png"))])
    view.finish()
    done = workspace.memory("image", slug, "0", f"--crop={crop}")
    assert done.code == 2
    assert "40 x 30" in done.err or "--crop takes X,Y,W,H" in done.err
    assert workspace.files() == {}


def test_an_image_that_is_a_bomb_is_not_opened(new_view: Any, workspace: Any, recorded: Any) -> None:
    view = new_view()
    raw = bytearray(picture("png"))
    raw[16:24] = struct.pack(">II", 60_000, 60_000)
    slug = view.add("seen", [recorded("a", image=(bytes(raw), "png"))])
    view.finish()
    done = workspace.memory("image", slug, "0", "--crop", "0,0,9,9")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_without_pillow_it_says_so_and_still_gives_the_path(shop: Any, tmp_path: Path) -> None:
    """A Python without Pillow: a bare virtual environment."""
    import venv

    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    python = (str(tmp_path / "bare" / "bin" / "python"),)
    assert shop.memory("image", shop.orders, "2", python=python).code == 0
    done = shop.memory("image", shop.orders, "2", "--scale", "2", python=python)
    assert done.code == 2
    assert "needs Pillow" in done.err
