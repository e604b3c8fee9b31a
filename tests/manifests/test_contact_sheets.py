"""Contact sheets are drawn once, for a bounded time, kept in the store, and never change a view."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from helpers.memory.picture import PER_SHEET, draw_sheet
from manifests.contact_sheets import MOST_PICTURES, SheetDrawing
from manifests.maintenance import collect_garbage, disk_use
from manifests.model import State, Trajectory
from manifests.store import Entry, Store
from manifests.views import Views
from tests.manifests.recordings import picture, put

DRAWING = SheetDrawing(draw_sheet, PER_SHEET)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def add(store: Store, name: str, colours: Sequence[int]) -> Entry:
    """A trajectory with one screenshot a state; equal colours are equal pictures."""
    data = store.root.parent / "data"
    for colour in set(colours):
        put(data / f"{colour}.png", picture(40, 30, colour=colour))
    states = [
        State(index, None, "", "", "", f"page {index}", f"{colour}.png")
        for index, colour in enumerate(colours)
    ]
    return store.add(Trajectory(name, "web", "g", "", None, states), data)


def sheets(view: Path, entry: Entry) -> list[Path]:
    return sorted((view / "trajectories" / entry.slug).glob("contact-*.jpg"))


def test_a_view_shows_sheets_of_all_screenshots_and_the_next_view_the_same_files(store: Store) -> None:
    seen, plain = add(store, "seen", range(25)), add(store, "plain", [])
    views = Views(store, drawing=DRAWING)
    with views.acquire([seen.slug]) as view:
        first, second = sheets(view.path, seen)
        assert (first.name, second.name) == ("contact-0000-0019.jpg", "contact-0020-0024.jpg")
        with Image.open(io.BytesIO(first.read_bytes())) as sheet:
            assert max(sheet.size) <= 1568
            red, _, blue = sheet.getpixel((5 * 384 % 1536 + 20, 290 + 30))
            assert abs(red - 5) < 12
            assert abs(blue - 200) < 12
        assert {path.stat().st_mtime for path in view.path.rglob("*")} == {946_684_800}
        with views.acquire([seen.slug, plain.slug]) as other:
            assert [path.stat().st_ino for path in sheets(other.path, seen)] == [
                first.stat().st_ino,
                second.stat().st_ino,
            ]
            assert sheets(other.path, plain) == []
    assert disk_use(store, views).sheet_bytes > 0


def test_few_are_drawn_for_one_view_and_more_for_the_next(store: Store) -> None:
    third = MOST_PICTURES // 3
    entries = [add(store, f"t{n}", range(n * third, (n + 1) * third)) for n in range(4)]
    repeating = add(store, "z-repeats", [7] * (MOST_PICTURES + 1))  # one picture
    slugs = [entry.slug for entry in (*entries, repeating)]
    views = Views(store, drawing=DRAWING)
    with views.acquire(slugs) as view:
        before = sorted(view.path.rglob("*"))
        assert [len(sheets(view.path, entry)) for entry in (*entries, repeating)] == [1, 1, 1, 0, 0]
        with views.acquire(slugs[1:]) as second:
            assert [len(sheets(second.path, entry)) for entry in (*entries[1:], repeating)] == [1, 1, 1, 4]
        with views.acquire(slugs) as again:
            assert sorted(again.path.rglob("*")) == before


def test_what_cannot_be_drawn_is_left_out_and_nothing_else(store: Store) -> None:
    broken, whole = add(store, "broken", [1]), add(store, "whole", [2])

    def draw(screenshots: list[tuple[int, str]]) -> bytes:
        if broken.slug in screenshots[0][1]:
            raise ValueError("no image")
        return draw_sheet(screenshots)

    with Views(store, drawing=SheetDrawing(draw, PER_SHEET)).acquire([broken.slug, whole.slug]) as view:
        assert (len(sheets(view.path, broken)), len(sheets(view.path, whole))) == (0, 1)


def test_sheets_of_trajectories_that_are_gone_are_garbage(store: Store) -> None:
    entry = add(store, "seen", [1])
    Views(store, drawing=DRAWING).acquire([entry.slug]).close()
    put(store.root / "sheets" / "gone-0123456789" / "contact-0000-0001.jpg", b"left")
    assert collect_garbage(store, Views(store)).leftovers == 1
    assert [path.name for path in (store.root / "sheets").iterdir()] == [entry.slug]
