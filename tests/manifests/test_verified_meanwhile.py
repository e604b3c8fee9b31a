"""What is checked and measured while others work: nothing of what goes meanwhile is damage."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manifests import verification
from manifests.maintenance import collect_garbage, disk_use, verify, verify_views
from manifests.model import State, Trajectory
from manifests.store import Entry, Store
from manifests.views import Views
from tests.manifests.recordings import picture, put
from tests.waiting import churn


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def entries(store: Store, tmp_path: Path) -> list[Entry]:
    """Three trajectories with a picture each."""
    found = []
    for number in range(3):
        put(tmp_path / "data" / f"{number}.png", picture(20, 10, colour=number))
        states = [State(0, 0, "", "", "", f"page {number}", f"{number}.png")]
        trajectory = Trajectory(f"t{number}", "web", "Do it", "", None, states)
        found.append(store.add(trajectory, tmp_path / "data"))
    return found


@pytest.mark.parametrize("folders", [0, 1, 2])
def test_a_view_that_is_evicted_meanwhile_is_not_damaged(
    store: Store, entries: list[Entry], monkeypatch: pytest.MonkeyPatch, folders: int
) -> None:
    views = Views(store)
    views.acquire([entry.slug for entry in entries]).close()

    def evicting(walk: Callable[[Path], Iterator[Any]]) -> Callable[[Path], Iterator[Any]]:
        def walked(top: Path) -> Iterator[Any]:
            for number, found in enumerate(walk(top)):
                if number == folders:  # it is listed, and its files are looked at next
                    assert len(views.trim(0)) == 1
                yield found

        return walked

    for walk in ("walk", "fwalk"):
        monkeypatch.setattr(os, walk, evicting(getattr(os, walk)))
    assert verify_views(views) == []
    assert views.names() == []


def test_a_view_whose_index_is_being_made_is_not_damaged(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire([entries[0].slug]) as view:
        lock = os.open(view.path, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.utime(view.path)  # as an index does that appears
        assert verify_views(views) == []
        os.close(lock)
        assert [damage.problem for damage in verify_views(views)] == ["was written to: ."]


def test_removing_a_view_that_somebody_else_removed_leaves_nothing(
    store: Store, entries: list[Entry]
) -> None:
    views = Views(store)
    views.acquire([entries[0].slug]).close()
    (name,) = views.names()
    assert [views.remove(name), views.remove(name)] == [True, True]
    assert [path.name for path in views.root.iterdir()] == ["incoming"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_trajectory_that_goes_is_not_damaged_but_one_that_loses_a_file(
    store: Store, entries: list[Entry], monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    going, real = entries[1], verification.recorded

    def removing(*arguments: object) -> object:
        if kept:
            going.state_path(0).unlink(missing_ok=True)
        elif going.path.exists():
            going.path.rename(store.root.parent / "taken away")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(verification, "recorded", removing)
    assert [damage.path for damage in verify(store)] == [going.state_path(0)] * kept


def test_images_and_parts_that_go_are_not_damaged(
    store: Store, entries: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    part, real = put(store.root / "index" / "gone-0123456789", b""), hashlib.file_digest

    def removing(file: object, digest: str) -> object:
        path = Path(file.name)  # type: ignore[attr-defined]
        if path.parent == store.images:
            for other in {*store.images.iterdir()} - {path}:
                other.unlink()
        return real(file, digest)  # type: ignore[arg-type]

    def removed(path: Path, judge: Callable[[Path], bool] = verification.is_undamaged) -> bool:
        path.unlink()
        return judge(path)

    for entry in entries:
        (entry.path / "screenshots" / "0000.png").unlink()  # so that only images/ has it
    monkeypatch.setattr(hashlib, "file_digest", removing)
    monkeypatch.setattr(verification, "is_undamaged", removed)
    assert {damage.path.parent for damage in verify(store)} == {
        entry.path / "screenshots" for entry in entries
    }
    assert not part.exists()
    assert len(list(store.images.iterdir())) == 1


def test_a_superseded_trajectory_is_removed_in_one_step(
    store: Store, entries: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.supersede(entries[0].slug, entries[1].slug)
    left: list[Path] = []
    monkeypatch.setattr("manifests.store.remove_tree", left.append)  # killed before it began
    collect_garbage(store, Views(store))
    assert verify(store) == []
    assert not entries[0].path.exists()
    assert collect_garbage(store, Views(store)).leftovers == 1
    assert [path.exists() for path in left] == [False]


def test_disk_is_measured_while_parts_come_and_go(store: Store, entries: list[Entry]) -> None:
    folder = store.root / "index"
    put(folder / entries[0].slug, b"kept")
    with churn(folder, "."):
        assert {disk_use(store, Views(store)).index_bytes for _ in range(200)} == {4}
