"""What a store takes is told, what nobody needs goes, and every damaged byte is named."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.memory import tokens
from helpers.memory.keys import line_keys, term_keys
from manifests.index import Tokeniser, build_index
from manifests.maintenance import collect_garbage, disk_use, repair, verify, verify_views
from manifests.model import State, Trajectory
from manifests.store import Entry, Store, StoreError
from manifests.views import Views
from tests.manifests.recordings import picture, put

TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def add(store: Store, number: int = 0) -> Entry:
    data = store.root.parent / "data"
    put(data / f"{number}.png", picture(2000, 20, colour=number))
    states = [
        State(0, 0, "", "click('1')", "", f"[1] link '{number}'", f"{number}.png"),
        State(1, 1, "", "", "", "x", None),
    ]
    return store.add(Trajectory(f"t{number}", "web", "Do it", "", "success", states), data)


def test_disk_use_counts_everything_once(store: Store) -> None:
    views = Views(store)
    entries = [add(store, number) for number in range(2)]
    with views.acquire([entries[0].slug]):
        use = disk_use(store, views)
    assert (use.trajectories, use.states, len(use.views)) == (2, 4, 1)
    assert use.image_bytes == sum(path.stat().st_size for path in store.images.iterdir())
    assert use.trajectory_bytes == sum(
        path.stat().st_size
        for e in entries
        for path in e.path.rglob("*")
        if path.is_file() and "screenshots" not in path.parts
    )
    assert use.leftover_bytes == 0


def test_what_killed_processes_left_goes_and_what_is_in_use_stays(store: Store) -> None:
    entry = add(store)
    views = Views(store)
    put(store.incoming / "123-abc.lock", b"")
    put(store.incoming / "456-def" / "1" / "half.txt", b"half")
    put(store.incoming / "123-abc" / "1" / "half.txt", b"half")
    with store.writer(store.root.parent / "data"), views.acquire([entry.slug]) as view:
        done = collect_garbage(store, views, cap_bytes=0)
        assert (done.leftovers, done.views, done.import_running) == (2, [], True)
        assert len(list(store.incoming.glob("*/"))) == 1
        assert view.path.is_dir()
    assert not list(store.incoming.glob("*/"))
    assert collect_garbage(store, views, cap_bytes=0).views == [view.path.name]


def test_search_terms_of_trajectories_that_are_gone_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = add(store)
    put(store.root / "index" / entry.slug, b"kept")
    put(store.root / "index" / "gone-0123456789", b"left")
    being_written = store.root / "index" / f".{entry.slug}.1.00000000"
    put(being_written, b"half")
    assert disk_use(store, Views(store)).index_bytes == 12
    assert collect_garbage(store, Views(store)).leftovers == 1
    assert sorted(path.name for path in (store.root / "index").iterdir()) == [being_written.name, entry.slug]
    monkeypatch.setattr("time.time", lambda now=time.time: now() + 3600)
    assert collect_garbage(store, Views(store)).leftovers == 1
    assert [path.name for path in (store.root / "index").iterdir()] == [entry.slug]


def test_images_that_no_trajectory_has_go(store: Store) -> None:
    kept, removed = add(store, 1), add(store, 2)
    used = {path.name for path in store.images.iterdir() if path.name.startswith(kept.images[0].sha256)}
    removed.path.rename(store.root.parent / "taken away")
    for path in (store.root.parent / "taken away" / "screenshots").iterdir():
        path.unlink()
    assert collect_garbage(store, Views(store)).images == 2
    assert {path.name for path in store.images.iterdir()} == used
    assert collect_garbage(store, Views(store)).images == 0


def test_an_undamaged_store_verifies(store: Store) -> None:
    for number in range(3):
        add(store, number)
    assert verify(store) == []


@pytest.mark.parametrize(
    "name",
    [
        "trajectory.json",
        "about.txt",
        "states/0001.txt",
        "screenshots/0000.png",
        "screenshots/0000.agent.png",
        "parts/entry.json",
        "parts/states.tsv",
        "parts/summary_full.md",
    ],
)
def test_one_changed_byte_is_found_in_every_file(store: Store, name: str) -> None:
    add(store, 1)
    path = add(store, 2).path / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    damages = verify(store)
    assert path in {damage.path for damage in damages}
    # A screenshot is the same file as the store's image.
    others = {damage.path.parent for damage in damages} - {path.parent}
    assert others <= ({store.images} if "screenshots" in name else set())


def test_missing_and_foreign_files_are_found(store: Store) -> None:
    path = add(store).path
    (path / "states" / "0001.txt").unlink()
    put(path / "states" / "0009.txt", b"planted")
    (path / "about.txt").unlink()
    (path / "about.txt").symlink_to("/etc/passwd")
    put(store.trajectories / "notes.txt", b"")
    assert {(d.path.name, d.problem) for d in verify(store)} == {
        ("0001.txt", "is missing"),
        ("0009.txt", "does not belong into a store"),
        ("about.txt", "was changed"),
        ("notes.txt", "does not belong into a store"),
    }


def test_repair_takes_damage_out_and_the_next_import_brings_it_back(store: Store) -> None:
    whole, damaged = add(store, 1), add(store, 2)
    views = Views(store)
    views.acquire([whole.slug]).close()
    with views.acquire([whole.slug, damaged.slug]) as view:
        damaged.state_path(0).write_bytes(b"scribbled")
        with pytest.raises(StoreError, match="in use"):
            repair(store, views, verify(store))
    assert repair(store, views, verify(store)) == [damaged.slug]
    assert [entry.slug for entry in store.entries()] == [whole.slug]
    assert len(views.names()) == 1
    assert not view.path.exists()
    assert add(store, 2) == damaged
    assert verify(store) == []


def test_a_damaged_image_is_repaired_with_the_trajectories_that_show_it(store: Store) -> None:
    entry = add(store)
    (entry.path / "screenshots" / "0000.png").write_bytes(b"scribbled")
    assert repair(store, Views(store), verify(store)) == [entry.slug]
    assert add(store) == entry
    assert verify(store) == []


def test_a_damaged_part_of_an_index_is_repaired_in_the_views_that_show_it(store: Store) -> None:
    whole, damaged = add(store, 1), add(store, 2)
    views = Views(store)
    for slugs in ([whole.slug], [whole.slug, damaged.slug]):
        with views.acquire(slugs) as view:
            build_index(view, TOKENISER)
    part = store.root / "index" / damaged.slug
    content = part.read_bytes()
    part.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert [(one.path, one.slug) for one in verify(store)] == [(part, "")]
    assert repair(store, views, verify(store)) == []
    assert len(views.names()) == 1
    assert verify(store) == []
    with views.acquire([whole.slug, damaged.slug]) as view:
        build_index(view, TOKENISER)
    assert part.read_bytes() == content


def older_entry(entry: Entry) -> Entry:
    """The entry written as an earlier version did: pictures as lists, and what no version knows any more."""
    path = entry.path / "parts" / "entry.json"
    record = json.loads(path.read_bytes())
    del record["pictures"]
    small = entry.images[0].agent
    assert small is not None
    image = [entry.images[0].sha256, entry.images[0].extension, small.sha256, small.extension]
    put(entry.path / "new_lines", b"\x1e0\nwhat earlier versions kept\n")
    size = record["size"] + (entry.path / "new_lines").stat().st_size
    path.write_text(json.dumps({**record, "size": size, "images": {"0": image}, "unknown": 1}))
    return Store.open(entry.path.parent.parent).get(entry.slug)


def test_a_store_of_an_earlier_version_is_read_used_and_verified(store: Store) -> None:
    entry = add(store)
    older = older_entry(entry)
    assert replace(older, size=entry.size) == entry
    opened = Store.open(store.root)
    assert opened.intact(older.slug)
    assert verify(opened) == []
    assert add(opened) == older
    with Views(opened).acquire([older.slug]) as view:
        assert (view.path / "trajectories" / older.slug / "0000.png").is_file()


def test_the_index_of_an_earlier_version_goes(store: Store) -> None:
    entry, views = add(store), Views(store)
    before = disk_use(store, views).other_bytes
    put(store.root / "terms" / f"{entry.slug}.sqlite", b"terms")
    with views.acquire([entry.slug]) as view:
        inode = view.path.stat().st_ino
    put(view.path / "index.sqlite", b"old")
    os.utime(view.path, (946_684_800, 946_684_800))
    record = views.root / f"{view.path.name}.lock"
    record.write_text(json.dumps({**json.loads(record.read_bytes()), "format": 1}))
    assert disk_use(store, views).other_bytes == before + 5
    assert verify_views(views) == []
    with views.acquire([entry.slug]) as view:
        assert view.path.stat().st_ino != inode
        assert not (view.path / "index.sqlite").exists()
    assert len(list(views.root.glob("*/"))) == 2  # the view, and what is being built
    assert not list(views.incoming.glob("*/"))
    done = collect_garbage(store, views)
    assert (done.leftovers, done.freed_bytes) == (1, 5)
    assert not (store.root / "terms").exists()
    assert disk_use(store, views).other_bytes == before


def test_a_changed_entry_of_an_earlier_version_is_found(store: Store) -> None:
    path = older_entry(add(store)).path / "parts" / "entry.json"
    path.write_text(path.read_text().replace("Do it", "Do that"))
    assert [damage.path for damage in verify(Store.open(store.root))] == [path]
