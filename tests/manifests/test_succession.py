"""A recording that went on: its older version is out of sight, never lost to those who still use it."""

from pathlib import Path

import pytest

from manifests.maintenance import collect_garbage, verify
from manifests.model import State, Trajectory
from manifests.store import Store, StoreError
from manifests.views import Views


def _session(states: int) -> Trajectory:
    return Trajectory(
        id="session-1",
        domain="claude-code",
        goal="Fix the deploy",
        start_url="file:///work",
        outcome=None,
        states=[State(i, i, "file:///work", "make", "", f"line {i}", None) for i in range(states)],
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def test_a_superseded_version_is_out_of_sight_and_still_readable(store: Store, tmp_path: Path) -> None:
    old, new = (store.add(_session(n), tmp_path) for n in (1, 2))
    store.supersede(old.slug, new.slug)
    assert [entry.slug for entry in store.entries()] == [new.slug]
    assert store.superseded() == {old.slug}
    # Another process that began before, and one that begins now, see the same.
    assert Store.open(store.root).slugs() == [new.slug]
    assert Store.open(store.root).get(old.slug).states == 1


def test_adding_a_superseded_version_again_brings_it_back(store: Store, tmp_path: Path) -> None:
    old, new = (store.add(_session(n), tmp_path) for n in (1, 2))
    store.supersede(old.slug, new.slug)
    store.add(_session(1), tmp_path)
    assert store.slugs() == sorted([old.slug, new.slug])


def test_only_what_is_in_the_store_can_be_superseded(store: Store, tmp_path: Path) -> None:
    slug = store.add(_session(1), tmp_path).slug
    with pytest.raises(StoreError, match="no trajectory"):
        store.supersede(slug, "session-1-0123456789")
    assert store.slugs() == [slug]


def test_garbage_collection_removes_superseded_versions_and_no_others(store: Store, tmp_path: Path) -> None:
    old, new = (store.add(_session(n), tmp_path) for n in (1, 2))
    store.supersede(old.slug, new.slug)
    done = collect_garbage(store, Views(store))
    assert (done.superseded, done.freed_bytes > 0) == (1, True)
    assert not store.has(old.slug)
    assert store.slugs() == [new.slug]
    assert not store.superseded()
    assert verify(store) == []


def test_garbage_collection_waits_for_a_running_import(store: Store, tmp_path: Path) -> None:
    old, new = (store.add(_session(n), tmp_path) for n in (1, 2))
    store.supersede(old.slug, new.slug)
    with store.writer(tmp_path):
        assert collect_garbage(store, Views(store)).import_running
    assert store.has(old.slug)


def test_a_view_in_use_keeps_showing_what_was_superseded(store: Store, tmp_path: Path) -> None:
    old = store.add(_session(1), tmp_path)
    with Views(store).acquire([old.slug]) as view:
        store.supersede(old.slug, store.add(_session(2), tmp_path).slug)
        collect_garbage(store, Views(store))
        assert "line 0" in (view.path / "trajectories" / old.slug / "0000.txt").read_text()
