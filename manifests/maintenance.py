"""Keeping house: what a store and its views take, and removing what nobody needs."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .contact_sheets import SHEETS_FOLDER
from .files import remove_tree, reporting
from .incoming import abandoned, nobody_builds, sweep
from .index_parts import PARTS_FOLDER, abandoned_parts
from .slugs import is_slug
from .store import Store
from .verification import Damage, repair, verify, verify_views
from .view_looks import file_bytes
from .views import Views

__all__ = ["Damage", "DiskUse", "Garbage", "collect_garbage", "disk_use", "repair", "verify", "verify_views"]


_OLDER = ("terms",)  # folders that earlier versions made and nobody reads any more
_COUNTED = ("trajectories", "images", PARTS_FOLDER, SHEETS_FOLDER, "incoming", "views")


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes on disk. Screenshots count once, in `images`; views without what they share with the store.

    `other_bytes` are what else lies in the store: receipts, and what earlier versions left.
    """

    trajectories: int
    states: int
    trajectory_bytes: int
    image_bytes: int
    index_bytes: int
    sheet_bytes: int
    views: dict[str, int]
    cap_bytes: int
    leftover_bytes: int
    other_bytes: int


@dataclass(slots=True)
class Garbage:
    """What was removed. `import_running` where trajectories and images were left alone for that."""

    leftovers: int = 0
    superseded: int = 0
    images: int = 0
    views: list[str] = field(default_factory=list)
    freed_bytes: int = 0
    import_running: bool = False


def disk_use(store: Store, views: Views) -> DiskUse:
    """How much the store and its views take."""
    with reporting(f"cannot read the store {store.root}"):
        entries = store.entries()
        return DiskUse(
            trajectories=len(entries),
            states=sum(entry.states for entry in entries),
            trajectory_bytes=sum(_text_bytes(entry.path) for entry in entries),
            image_bytes=_tree_bytes(store.images),
            index_bytes=_tree_bytes(store.root / PARTS_FOLDER),
            sheet_bytes=_tree_bytes(store.root / SHEETS_FOLDER),
            views={name: views.size(name) for name in views.names()},
            cap_bytes=views.cap_bytes,
            leftover_bytes=sum(_tree_bytes(path) for path in _leftovers(store, views)),
            other_bytes=_other_bytes(store.root),
        )


def collect_garbage(store: Store, views: Views, *, cap_bytes: int | None = None) -> Garbage:
    """Remove what killed processes left, superseded trajectories, unused images, and views over the cap.

    Nothing that is in use is touched.
    """
    done = Garbage()
    with reporting(f"cannot clean the store {store.root}"):
        done.freed_bytes += sum(_tree_bytes(path) for path in _leftovers(store, views))
        done.leftovers = len(sweep(store.incoming)) + len(sweep(views.incoming))
        _remove_older(store, done)
        _remove_unseen(store, done)
        sizes = {name: views.size(name) for name in views.names()}
        done.views = views.trim(cap_bytes)
        done.freed_bytes += sum(sizes[name] for name in done.views)
    return done


def _remove_older(store: Store, done: Garbage) -> None:
    """Remove what only earlier versions read."""
    for path in (store.root / name for name in _OLDER):
        if path.is_dir():
            done.leftovers += 1
            done.freed_bytes += _tree_bytes(path)
            remove_tree(path)


def _remove_unseen(store: Store, done: Garbage) -> None:
    """Remove what no view will show again, unless an import is running, which may bring it back."""
    with nobody_builds(store.incoming) as alone:
        if not alone:
            done.import_running = True
            return
        for slug in sorted(store.superseded()):
            done.superseded += 1
            if store.has(slug):
                done.freed_bytes += _text_bytes(store.trajectories / slug)
            store.remove_superseded(slug)
        _remove_terms(store, done)
        _remove_sheets(store, done)
        _remove_images(store, done)


def _remove_terms(store: Store, done: Garbage) -> None:
    """Remove index parts of trajectories that are gone, and what killed indexers left."""
    folder = store.root / PARTS_FOLDER
    listed = list(folder.iterdir()) if folder.is_dir() else []
    unused = [path for path in listed if is_slug(path.name) and not store.has(path.name)]
    for path in [*unused, *abandoned_parts(folder)]:
        with suppress(FileNotFoundError):
            done.freed_bytes += path.lstat().st_size
            path.unlink()
            done.leftovers += 1


def _remove_sheets(store: Store, done: Garbage) -> None:
    """Remove contact sheets of trajectories that are gone."""
    folder = store.root / SHEETS_FOLDER
    for path in list(folder.iterdir()) if folder.is_dir() else []:
        if not store.has(path.name):
            done.leftovers += 1
            done.freed_bytes += _tree_bytes(path)
            remove_tree(path)


def _remove_images(store: Store, done: Garbage) -> None:
    """Remove images with no other name.

    A trajectory that could not link to an image has a copy of its own, so it loses nothing either.
    """
    names = {path: path.stat().st_nlink for path in sorted(store.images.iterdir())}
    used = {_digest(path) for path, count in names.items() if count > 1}
    # An original goes before its small copy: where an original is, its small copy must be too.
    for path in sorted((path for path in names if _digest(path) not in used), key=_is_small):
        done.images += 1
        done.freed_bytes += path.stat().st_size
        path.unlink()


def _digest(image: Path) -> str:
    return image.name.partition(".")[0]


def _is_small(image: Path) -> bool:
    return ".agent." in image.name


def _leftovers(store: Store, views: Views) -> list[Path]:
    return [*abandoned(store.incoming), *abandoned(views.incoming)]


def _other_bytes(root: Path) -> int:
    others = [path for path in root.iterdir() if path.is_dir() and path.name not in _COUNTED]
    return file_bytes(root) + sum(map(_tree_bytes, others))


def _text_bytes(path: Path) -> int:
    return sum(file_bytes(folder) for folder in (path, path / "states", path / "parts"))


def _tree_bytes(path: Path) -> int:
    return sum(file_bytes(folder) for folder, *_ in os.walk(path))
