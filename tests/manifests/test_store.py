"""The store: plain files that tell nothing but their content, whole or not there at all."""

import json
import os
import stat
from pathlib import Path

import pytest

from manifests.model import Convention, State, Trajectory
from manifests.store import FORMAT, Store, StoreError
from tests.manifests.recordings import picture, put, tree

EPOCH = 946_684_800


def trajectory(trajectory_id: str = "T 1", shots: tuple[str | None, ...] = (None, None)) -> Trajectory:
    states = [
        State(i, i + 5, "http://a.example/", "click('3')", "", f"[3] link 'Page {i}'", s)
        for i, s in enumerate(shots)
    ]
    states[-1].action = ""
    return Trajectory(trajectory_id, "web", "Do it", "http://a.example/", None, states)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    put(tmp_path / "data" / "small.png", picture())
    put(tmp_path / "data" / "large.png", picture(2000, 20))
    return tmp_path / "data"


def test_a_trajectory_as_files(store: Store, data: Path) -> None:
    entry = store.add(trajectory(shots=("small.png", "large.png")), data)
    assert entry.slug.startswith("t-1-")
    assert sorted(tree(entry.path)) == [
        "about.txt",
        "parts/entry.json",
        "parts/states.tsv",
        "parts/summary_concise.md",
        "parts/summary_full.md",
        "screenshots/0000.png",
        "screenshots/0001.agent.png",
        "screenshots/0001.png",
        "states/0000.txt",
        "states/0001.txt",
        "trajectory.json",
    ]
    assert (
        entry.state_path(0).read_text()
        == "url: http://a.example/\naction: click('3')  # [3] link 'Page 0'\n\n[3] link 'Page 0'\n"
    )
    assert (entry.path / "parts" / "states.tsv").read_text().splitlines()[0] == (
        f"{entry.slug}\t0\thttp://a.example/\tclick('3') # [3] link 'Page 0'\t"
    )


def test_the_record_has_the_public_field_names(store: Store, data: Path) -> None:
    entry = store.add(trajectory(shots=("small.png", None)), data)
    record = json.loads((entry.path / "trajectory.json").read_bytes())
    assert list(record) == ["id", "domain", "goal", "outcome", "start_url", "action_convention", "states"]
    shot = entry.screenshot(0)
    assert shot is not None
    assert record["states"][0] == {
        "state_index": 0,
        "step": 5,
        "url": "http://a.example/",
        "action": "click('3')",
        "thought": None,
        "accessibility_tree": "[3] link 'Page 0'",
        "screenshot": "screenshots/0000.png",
        "screenshot_sha256": shot.sha256,
    }
    assert record["states"][1]["screenshot"] is None
    assert shot.path.read_bytes() == picture()
    assert entry.screenshot(1) is None


def test_an_entry_says_what_is_there(store: Store, data: Path) -> None:
    added = store.add(trajectory(), data)
    entry = Store.open(store.root).get(added.slug)
    assert entry == added
    assert (entry.id, entry.states, entry.convention, entry.outcome) == ("T 1", 2, Convention.SOURCE, None)
    assert Store.open(store.root).entries() == [entry]


def test_times_and_modes_tell_nothing(store: Store, data: Path) -> None:
    old = os.umask(0o077)
    try:
        entry = store.add(trajectory(shots=("small.png", "large.png")), data)
    finally:
        os.umask(old)
    for path in [entry.path, *entry.path.rglob("*"), *store.images.iterdir()]:
        found = path.lstat()
        assert found.st_mtime == EPOCH, path
        assert stat.S_IMODE(found.st_mode) == (0o755 if path.is_dir() else 0o644), path


def test_the_users_files_stay_out_of_reach(store: Store, data: Path) -> None:
    entry = store.add(trajectory(shots=("small.png", "small.png")), data)
    (entry.path / "screenshots" / "0000.png").write_bytes(b"scribbled over")
    assert (data / "small.png").read_bytes() == picture()
    assert (data / "small.png").stat().st_nlink == 1
    assert not [path for path in store.root.rglob("*") if path.is_symlink()]


def test_the_same_content_is_kept_once(store: Store, data: Path) -> None:
    assert store.add(trajectory(), data) == store.add(trajectory(), data)
    assert len(store.entries()) == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda t: setattr(t, "id", "t 1"),
        lambda t: setattr(t, "goal", "Do it!"),
        lambda t: setattr(t.states[0], "text", "[3] link 'Page X'"),
        lambda t: setattr(t.states[0], "screenshot", "small.png"),
    ],
)
def test_other_content_is_another_trajectory(store: Store, data: Path, other) -> None:  # type: ignore[no-untyped-def]
    changed = trajectory()
    other(changed)
    assert store.add(trajectory(), data).slug != store.add(changed, data).slug


def test_the_convention_is_part_of_what_is_kept(store: Store, data: Path) -> None:
    told = store.add(trajectory(), data, convention=Convention.DESTINATION)
    assert told.convention is Convention.DESTINATION
    assert told.slug != store.add(trajectory(), data).slug


def test_ids_that_a_file_system_may_confuse_stay_apart(store: Store, data: Path) -> None:
    ids = [
        "a",
        "A",
        "a ",
        "a/",
        "a.",
        "..",
        "../a",
        "CON",
        "con",
        "NUL.txt",
        "x" * 300,
        "x" * 301,
        "\u00e9",
        "e\u0301",
        "a\tb",
    ]
    slugs = [store.add(trajectory(one), data).slug for one in ids]
    assert len({slug.lower() for slug in slugs}) == len(ids)
    assert sorted(slugs) == sorted(path.name for path in store.trajectories.iterdir())
    assert {entry.id for entry in store.entries()} == set(ids)


def test_a_store_of_a_newer_format_is_refused(store: Store) -> None:
    (store.root / "FORMAT").write_text(f"{FORMAT + 1}\n")
    with pytest.raises(StoreError, match=r"has format 2, this version reads up to 1; upgrade"):
        Store.open(store.root)


def test_a_folder_with_other_things_is_not_taken_for_a_store(tmp_path: Path) -> None:
    put(tmp_path / "thesis.tex", b"")
    with pytest.raises(StoreError, match="is no store"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="not a folder"):
        Store.open(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("slug", ["gone-0123456789", "../../etc", ""])
def test_an_unknown_slug_is_one_clear_error(store: Store, slug: str) -> None:
    with pytest.raises(StoreError):
        store.get(slug)


def test_what_a_power_cut_shortened_is_written_anew(store: Store, data: Path) -> None:
    entry = store.add(trajectory(), data)
    whole = tree(entry.path)
    for name in ("states/0001.txt", "parts/entry.json", "trajectory.json"):
        os.truncate(entry.path / name, 0)
        assert not store.intact(entry.slug)
        store.add(trajectory(), data)
        assert tree(entry.path) == whole
        assert store.intact(entry.slug)


def test_two_contents_with_one_short_hash_are_never_mixed_up(store: Store, data: Path) -> None:
    entry = store.add(trajectory(), data)
    record = json.loads((entry.path / "parts" / "entry.json").read_bytes())
    (entry.path / "parts" / "entry.json").write_text(json.dumps({**record, "digest": "0" * 64}))
    with pytest.raises(StoreError, match="another trajectory with the same short hash"):
        store.add(trajectory(), data)
