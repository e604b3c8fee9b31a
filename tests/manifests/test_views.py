"""A view shows exactly its trajectories, costs nothing twice, and stays while it is used."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from manifests.maintenance import repair, verify_views
from manifests.model import State, Trajectory
from manifests.store import Entry, Store, StoreError
from manifests.views import Views
from tests.manifests.recordings import picture, put, tree
from tests.waiting import AT_ONCE

REPOSITORY = Path(__file__).resolve().parents[2]
EPOCH = 946_684_800


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def entries(store: Store, tmp_path: Path) -> list[Entry]:
    """Four trajectories of two states; each first state has a picture, that of `t2` a large one."""
    data = tmp_path / "data"
    found = []
    for number in range(4):
        put(data / f"{number}.png", picture(2000 if number == 2 else 20, 10, colour=number))
        states = [
            State(
                0,
                0,
                "http://a.example/",
                "click('1')",
                "Look\tat it",
                f"[1] link 'Page {number}'",
                f"{number}.png",
            ),
            State(1, 1, "http://a.example/1", "", "", "done", None),
        ]
        goal = f"Do the thing number {number}\nquickly"
        found.append(
            store.add(Trajectory(f"t{number}", "web", goal, "http://a.example/", "success", states), data)
        )
    return found


def slugs(entries: list[Entry]) -> list[str]:
    return [entry.slug for entry in entries]


def test_a_view_is_what_a_question_may_see_and_nothing_else(store: Store, entries: list[Entry]) -> None:
    with Views(store).acquire(slugs(entries[:2])) as view:
        expected = {"MANIFEST.md", "trajectories.tsv", "states.tsv"}
        for entry in entries[:2]:
            expected |= {
                f"trajectories/{entry.slug}/{name}"
                for name in ("about.txt", "0000.txt", "0001.txt", "0000.png")
            }
        assert set(tree(view.path)) == expected
        assert dict(view.entries) == {entry.slug: entry for entry in entries[:2]}


def test_texts_are_the_stores_own_files(store: Store, entries: list[Entry]) -> None:
    with Views(store).acquire(slugs(entries)) as view:
        for entry in entries:
            shown = view.path / "trajectories" / entry.slug / "0001.txt"
            assert shown.samefile(entry.state_path(1))


def test_agents_are_shown_the_small_copy(store: Store, entries: list[Entry]) -> None:
    with Views(store).acquire(slugs(entries)) as view:
        large, small = entries[2], entries[1]
        assert (view.path / "trajectories" / large.slug / "0000.png").samefile(
            large.path / "screenshots" / "0000.agent.png"
        )
        assert (view.path / "trajectories" / small.slug / "0000.png").samefile(
            small.path / "screenshots" / "0000.png"
        )


def test_the_tables_have_one_line_each(store: Store, entries: list[Entry]) -> None:
    with Views(store).acquire(slugs(entries)) as view:
        rows = [line.split("\t") for line in (view.path / "states.tsv").read_text().splitlines()]
        assert rows[0] == ["slug", "state", "url", "action", "thought"]
        assert rows[1] == [
            entries[0].slug,
            "0",
            "http://a.example/",
            "click('1') # [1] link 'Page 0'",
            "Look at it",
        ]
        assert [row[:2] for row in rows[1:]] == [[entry.slug, n] for entry in entries for n in "01"]
        header, *lines = (view.path / "trajectories.tsv").read_text().splitlines()
        assert header.split("\t") == [
            "slug",
            "id",
            "states",
            "outcome",
            "action_convention",
            "start_url",
            "goal",
        ]
        assert lines[3].split("\t") == [
            entries[3].slug,
            "t3",
            "2",
            "success",
            "source",
            "http://a.example/",
            "Do the thing number 3 quickly",
        ]


def test_what_an_ablation_leaves_out_is_not_in_its_view(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries), manifests=False) as bare, views.acquire(slugs(entries)) as whole:
        assert bare.path != whole.path
        assert bare.digest == whole.digest
        assert {path.name for path in bare.path.iterdir()} == {"trajectories", "trajectories.tsv"}
        assert {"MANIFEST.md", "states.tsv"} <= {path.name for path in whole.path.iterdir()}
    assert len(views.names()) == 2


def test_summaries_come_on_demand_and_to_nobody_else(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries), summaries=True) as full, views.acquire(slugs(entries)) as plain:
        assert full.digest == plain.digest
        assert not list(plain.path.glob("SUMMARY*"))
        concise = (full.path / "SUMMARY_CONCISE.md").read_text()
        everything = (full.path / "SUMMARY_FULL.md").read_text()
        for entry in entries:
            assert f"## {entry.slug}\n- goal: {entry.goal.replace(chr(10), ' ')}\n" in concise
        assert "thought" not in concise
        assert everything.count("  - thought: Look at it\n  - action: click('1') # [1] link 'Page") == 4


def test_nothing_but_content_tells_trajectories_apart(store: Store, entries: list[Entry]) -> None:
    with Views(store).acquire(reversed(slugs(entries))) as view:
        for path in [view.path, *view.path.rglob("*")]:
            found = path.lstat()
            assert found.st_mtime == EPOCH, path
            assert stat.S_IMODE(found.st_mode) == (0o755 if path.is_dir() else 0o644), path
            assert not path.is_symlink()


def test_a_view_is_made_once_per_set_of_trajectories(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries)) as one, Views(store).acquire(reversed(slugs(entries) * 2)) as same:
        assert one.path == same.path
        inode = one.path.stat().st_ino
    with views.acquire(slugs(entries)) as again, views.acquire(slugs(entries[1:])) as other:
        assert again.path.stat().st_ino == inode
        assert other.path != one.path
    assert len(views.names()) == 2


def test_what_its_manifests_took_is_known_later_too(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries)) as made, views.acquire(slugs(entries)) as found:
        assert made.manifest_seconds is not None
        assert 0 < made.manifest_seconds < AT_ONCE
        assert found.manifest_seconds == made.manifest_seconds


def test_a_set_must_be_known_and_not_empty(store: Store, entries: list[Entry]) -> None:
    with pytest.raises(StoreError, match="no trajectory 'gone-0123456789'"):
        Views(store).acquire([*slugs(entries), "gone-0123456789"])
    with pytest.raises(StoreError, match="at least one"):
        Views(store).acquire([])
    assert Views(store).names() == []


@pytest.mark.parametrize("lost", ["MANIFEST.md", "states.tsv", "lock", "all"])
def test_what_is_lost_of_a_view_is_made_again(store: Store, entries: list[Entry], lost: str) -> None:
    views = Views(store)
    with views.acquire(slugs(entries)) as view:
        whole = tree(view.path)
    if lost == "lock":
        (views.root / f"{view.path.name}.lock").unlink()
    elif lost == "all":
        view.path.rename(views.root / "elsewhere")
    else:
        os.truncate(view.path / lost, 3)
    with views.acquire(slugs(entries)) as again:
        assert tree(again.path) == whole


@pytest.mark.parametrize("change", ["gone", "added", "replaced"])
def test_a_view_whose_trajectories_somebody_changed_is_made_again(
    store: Store, entries: list[Entry], change: str
) -> None:
    views = Views(store)
    slugs = [entry.slug for entry in entries]
    with views.acquire(slugs) as view:
        state = view.path / "trajectories" / slugs[0] / "0000.txt"
        text = state.read_text()
        if change == "added":
            state.with_name("9999.txt").write_text("planted")
        else:
            state.unlink()
        if change == "replaced":
            state.write_text("planted")
    (damage,) = verify_views(views)
    assert (damage.path, "was written to" in damage.problem) == (view.path, True)
    with views.acquire(slugs) as view:
        assert state.read_text() == text
        assert not state.with_name("9999.txt").exists()
    assert verify_views(views) == []


def test_a_changed_view_is_taken_out_by_a_repair(store: Store, entries: list[Entry]) -> None:
    views = Views(store, cap_bytes=10**9)
    with views.acquire([entries[0].slug]) as view:
        (view.path / "states.tsv").write_text("scribbled")
        with pytest.raises(StoreError, match="in use"):
            repair(store, views, verify_views(views))
    repair(store, views, verify_views(views))
    assert views.names() == []


def test_a_trajectory_written_anew_is_shown_anew(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    views.acquire(slugs(entries)).close()
    os.truncate(entries[0].state_path(0), 0)
    shown = State(0, 0, "http://a.example/", "click('1')", "Look\tat it", "[1] link 'Page 0'", "0.png")
    last = State(1, 1, "http://a.example/1", "", "", "done", None)
    goal = "Do the thing number 0\nquickly"
    again = Trajectory("t0", "web", goal, "http://a.example/", "success", [shown, last])
    assert store.add(again, store.root.parent / "data") == entries[0]
    with views.acquire(slugs(entries)) as view:
        assert (view.path / "trajectories" / entries[0].slug / "0000.txt").samefile(entries[0].state_path(0))


ACQUIRE = """
import sys
from pathlib import Path
from manifests.store import Store
from manifests.views import Views
store = Store.open(Path(sys.argv[1]))
view = Views(store).acquire(sys.argv[2:])
print(view.path.stat().st_ino, sorted(p.name for p in view.path.iterdir()), flush=True)
sys.stdin.read()
"""


def acquiring(store: Store, chosen: list[str]) -> subprocess.Popen[str]:
    """Another process that holds a view until its standard input ends."""
    command = [sys.executable, "-c", ACQUIRE, store.root, *chosen]
    return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_want_the_same_view_at_once_share_it(store: Store, entries: list[Entry]) -> None:
    processes = [acquiring(store, slugs(entries)) for _ in range(3)]
    seen = {process.communicate("")[0] for process in processes}
    assert len(seen) == 1
    assert "MANIFEST.md" in seen.pop()
    assert not list(Views(store).incoming.glob("*/"))


def test_a_view_in_use_is_never_removed(store: Store, entries: list[Entry]) -> None:
    process = acquiring(store, slugs(entries))
    assert process.stdout is not None
    process.stdout.readline()
    views = Views(store)
    (name,) = views.names()
    assert views.trim(cap_bytes=0) == []
    assert (views.root / name / "MANIFEST.md").exists()
    process.communicate("")
    assert views.trim(cap_bytes=0) == [name]
    assert views.names() == []
    assert sorted(path.name for path in views.root.iterdir()) == ["incoming"]


def test_the_views_used_longest_ago_go_first(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    paths = []
    for number in range(3):
        with views.acquire(slugs(entries[number:])) as view:
            paths.append(view.path)
            os.utime(views.root / f"{view.path.name}.lock", (1000 + number, 1000 + number))
    with views.acquire(slugs(entries)):
        pass
    cap = sum(views.size(path.name) for path in paths) - 1
    assert views.trim(cap) == [paths[1].name]
    small = Views(store, cap_bytes=1)
    with small.acquire(slugs(entries[:1])) as kept:
        assert small.names() == [kept.path.name]


def test_a_view_on_another_disk_is_a_copy(store: Store, entries: list[Entry]) -> None:
    other = Path("/dev/shm")
    if not os.access(other, os.W_OK) or other.stat().st_dev == store.root.stat().st_dev:
        pytest.skip("no second file system to write to")
    root = other / f"views-{os.getpid()}"
    views = Views(store, root)
    try:
        with Views(store).acquire(slugs(entries)) as linked, views.acquire(slugs(entries)) as copied:
            assert tree(copied.path) == tree(linked.path)
            assert views.size(copied.path.name) > Views(store).size(linked.path.name)
            for path in copied.path.rglob("*"):
                assert path.lstat().st_mtime == EPOCH
    finally:
        views.trim(0)
        subprocess.run(["rm", "-r", root], check=True)


def test_a_private_view_shares_no_file_with_the_store(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries)) as shared, views.acquire(slugs(entries), private=True) as private:
        assert tree(private.path) == tree(shared.path)
        of_store = {path.stat().st_ino for path in store.root.rglob("*") if private.path not in path.parents}
        assert not of_store & {path.stat().st_ino for path in private.path.rglob("*")}
        assert {path.stat().st_mtime for path in private.path.rglob("*")} == {EPOCH}
        assert views.size(private.path.name) > views.size(shared.path.name)
    path = private.path / "trajectories.tsv"
    inode = path.stat().st_ino
    views.acquire(slugs(entries), private=True).close()
    assert path.stat().st_ino == inode


def test_a_view_that_was_written_to_is_built_anew(store: Store, entries: list[Entry]) -> None:
    views = Views(store)
    with views.acquire(slugs(entries), private=True) as view:
        state = view.path / "trajectories" / entries[0].slug / "0000.txt"
        state.write_text("poisoned")
        assert entries[0].state_path(0).read_text() != "poisoned"
        view.distrust()
    with views.acquire(slugs(entries), private=True):
        assert state.read_text() == entries[0].state_path(0).read_text()


def test_a_missing_file_of_the_store_is_named_with_the_mend(store: Store, entries: list[Entry]) -> None:
    entries[1].state_path(1).unlink()
    with pytest.raises(StoreError, match=r"states/0001.txt is missing; mend: runbook store verify --repair"):
        Views(store).acquire(slugs(entries))
