"""Screenshots are found in both layouts, and never outside of the data root."""

import os
from itertools import count
from pathlib import Path

import pytest

from manifests.errors import DataError
from manifests.images import ImageStore
from manifests.model import State, Trajectory
from manifests.screenshots import ScreenshotFinder, Screenshots
from tests.manifests.recordings import picture, put


def collect(
    root: Path, *shots: str | None, trajectory_id: str = "t1", steps: list[int | str | None] | None = None
) -> Screenshots:
    numbers = count()
    images = root.parent / "images"
    images.mkdir(exist_ok=True)
    store = ImageStore(images, lambda: root.parent / f"new-{next(numbers)}")
    states = [State(i, steps[i] if steps else None, "", "", "", "", shot) for i, shot in enumerate(shots)]
    return ScreenshotFinder(root).collect(Trajectory(trajectory_id, "", "", "", None, states), store, "f:3")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def test_the_path_in_the_state_is_taken(root: Path) -> None:
    put(root / "shots" / "a.png", picture())
    found = collect(root, "shots/a.png", None, "shots/../shots/./a.png")
    assert list(found.images) == [0, 2]
    assert not found.warnings
    assert not found.missing


@pytest.mark.parametrize(
    ("step", "name"), [(4, "4.png"), ("4", "4.png"), (4, "0004.png"), (None, "0.png"), (None, "0000.png")]
)
def test_else_the_prepared_layout_by_id_and_step(root: Path, step: int | str | None, name: str) -> None:
    put(root / "screenshots" / "t1" / name, picture())
    assert list(collect(root, None, steps=[step]).images) == [0]
    assert list(collect(root, "web_screenshots/gone.png", steps=[step]).images) == [0]


@pytest.mark.parametrize("trajectory_id", ["../t1", "..", ".", "/t1", "a/../t1", "x" * 300, "a\nb"])
def test_an_id_is_no_way_out_of_the_screenshots(root: Path, trajectory_id: str) -> None:
    put(root / "t1" / "0.png", picture())
    put(root / "0.png", picture())
    put(root / "screenshots" / "0.png", picture())
    put(root / "screenshots" / "t1" / "0.png", picture())
    assert not collect(root, None, trajectory_id=trajectory_id).images


def test_what_is_missing_is_a_warning(root: Path) -> None:
    found = collect(root, "gone/0.png", None, "gone/2.png")
    assert found.missing == "f:3: 2 of 3 screenshots are missing, the first is 'gone/0.png'"
    assert not found.images


def test_what_is_no_image_is_a_warning_with_file_and_line(root: Path) -> None:
    put(root / "a.png", b"text")
    put(root / "b.png", picture())
    (root / "folder.png").mkdir()
    found = collect(root, "a.png", "b.png", "folder.png")
    assert list(found.images) == [1]
    assert [warning.split(": ")[:2] for warning in found.warnings] == [["f:3", "state 0"], ["f:3", "state 2"]]
    assert "a.png' is not an intact PNG" in found.warnings[0]


@pytest.mark.parametrize(
    "path", ["../secret.png", "/etc/passwd", "a/../../secret.png", "..", "screenshots/../../data2/x.png"]
)
def test_a_path_out_of_the_data_root_is_refused(root: Path, path: str) -> None:
    put(root.parent / "secret.png", picture())
    with pytest.raises(DataError, match=r"f:3: state 0: .* leaves the data root"):
        collect(root, path)


def test_a_link_out_of_the_data_root_is_refused(root: Path) -> None:
    put(root.parent / "secret" / "0.png", picture())
    (root / "0.png").symlink_to("/etc/passwd")
    (root / "shots").symlink_to(root.parent / "secret")
    (root / "screenshots").mkdir()
    (root / "screenshots" / "t1").symlink_to(root.parent / "secret")
    for path in ("0.png", "shots/0.png", None):
        with pytest.raises(DataError, match=r"f:3: state 0: .* is a link out of the data root"):
            collect(root, path)


def test_a_link_inside_the_data_root_is_followed(root: Path) -> None:
    put(root / "real" / "0.png", picture())
    (root / "0.png").symlink_to("real/0.png")
    (root / "shots").symlink_to("real")
    assert list(collect(root, "0.png", "shots/0.png").images) == [0, 1]


def test_links_that_lead_nowhere_are_missing_files(root: Path) -> None:
    (root / "a.png").symlink_to("gone.png")
    (root / "b.png").symlink_to("b.png")
    found = collect(root, "a.png", "b.png")
    assert "1 of 2 screenshots are missing" in found.missing
    assert "b.png' is not a regular file" in found.warnings[0]


def test_the_data_root_may_itself_be_a_link(root: Path) -> None:
    put(root / "0.png", picture())
    (root.parent / "link").symlink_to(root)
    assert list(collect(root.parent / "link", "0.png").images) == [0]


def test_a_screenshot_that_comes_later_changes_a_folder_that_was_looked_into(root: Path) -> None:
    before = collect(root, "shots/0.png").folders
    put(root / "shots" / "0.png", picture())
    assert collect(root, "shots/0.png").folders != before
    assert os.fspath(root) not in "".join(before)
