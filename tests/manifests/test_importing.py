"""A data root is imported once, in order or not at all, and what cannot be used is named by file and line."""

import json
import os
from pathlib import Path

import pytest

from manifests.importing import DataError, import_lme_v2
from manifests.model import Convention
from manifests.sanitise import recorded_id
from manifests.store import Store
from tests.manifests.recordings import picture, put, record, state, tree, write_root


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def test_what_is_imported_is_reported(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a"), b"", b"   ", record("b", state(), state(), state())])
    seen: list[tuple[int, int]] = []
    report = import_lme_v2(root, store, progress=lambda done, total: seen.append((done, total)))
    assert list(report.slugs) == ["a", "b"]
    assert {store.get(slug).id for slug in report.slugs.values()} == {"a", "b"}
    assert (report.trajectories, report.states, report.reused, report.warnings) == (2, 5, 0, [])
    assert seen == [(1, 2), (2, 2)]


def test_a_second_start_reads_nothing_again(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a", state(screenshot="gone.png")), record("b")])
    first = import_lme_v2(root, store)
    path = root / "trajectories.jsonl"
    before = path.stat()
    # Whoever read this would stumble; to the file system it is the same file.
    path.write_bytes(b"x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    again = import_lme_v2(root, Store.open(store.root))
    assert again.slugs == first.slugs
    assert again.warnings == first.warnings
    assert again.reused == again.trajectories == 2
    path.write_bytes(b"x" * before.st_size)
    with pytest.raises(DataError, match=r"trajectories.jsonl:1: not valid JSON"):
        import_lme_v2(root, store)


def test_a_changed_data_root_adds_what_is_new(store: Store, tmp_path: Path) -> None:
    import_lme_v2(write_root(tmp_path / "data", [record("a"), record("b")]), store)
    root = write_root(tmp_path / "data", [record("a"), record("b", goal="Other"), record("c")])
    report = import_lme_v2(root, store)
    assert (report.trajectories, report.reused) == (3, 1)
    assert len(store.entries()) == 4


def test_a_screenshot_that_comes_later_is_taken_in(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a", state(screenshot="shots/0.png")), record("b")])
    first = import_lme_v2(root, store)
    put(root / "shots" / "0.png", picture())
    second = import_lme_v2(root, store)
    assert (first.slugs["b"], second.reused) == (second.slugs["b"], 1)
    assert store.get(first.slugs["a"]).screenshot(0) is None
    assert store.get(second.slugs["a"]).screenshot(0) is not None


def test_only_the_wanted_trajectories_are_imported(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record(f"t{i}") for i in range(5)])
    assert list(import_lme_v2(root, store, only=["t3", "t1"]).slugs) == ["t1", "t3"]
    assert len(store.entries()) == 2
    assert import_lme_v2(root, store, only={"t3", "t4"}).reused == 1
    assert import_lme_v2(root, store).reused == 3


def test_a_haystack_with_an_unknown_trajectory_is_refused(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("web-0012"), record("web-0013")])
    with pytest.raises(
        DataError, match=r"trajectories.jsonl has no trajectory 'web-0O12'; near to it: web-0012"
    ):
        import_lme_v2(root, store, only=["web-0012", "web-0O12"])


def test_recordings_that_do_not_tell_their_convention_take_their_siblings(
    store: Store, tmp_path: Path
) -> None:
    told = record("told", state(action="a"), state())
    silent = record("silent", state(action="a"), state(action="b"))
    alone = import_lme_v2(write_root(tmp_path / "one", [silent]), store)
    together = import_lme_v2(write_root(tmp_path / "two", [silent, told]), store, only=["silent"])
    assert store.get(alone.slugs["silent"]).convention is Convention.UNKNOWN
    assert store.get(together.slugs["silent"]).convention is Convention.SOURCE


def test_recordings_that_contradict_each_other_each_keep_their_own(store: Store, tmp_path: Path) -> None:
    root = write_root(
        tmp_path / "data",
        [
            record("source", state(action="a"), state()),
            record("destination", state(), state(action="a")),
            record("silent", state(action="a"), state(action="b")),
        ],
    )
    slugs = import_lme_v2(root, store).slugs
    assert {i: str(store.get(slug).convention) for i, slug in slugs.items()} == {
        "source": "source",
        "destination": "destination",
        "silent": "unknown",
    }


def test_what_had_to_be_replaced_or_left_out_is_a_warning_with_its_line(store: Store, tmp_path: Path) -> None:
    root = write_root(
        tmp_path / "data",
        [record("a"), record("b", state("esc \x1b[0m and \0")), record("c", state(screenshot="c.png"))],
    )
    put(root / "c.png", b"no image")
    warnings = import_lme_v2(root, store).warnings
    path = root / "trajectories.jsonl"
    assert warnings == [
        f"{path}:2: 2 invalid or control characters were replaced",
        f"{path}:3: state 0: '{root}/c.png' is not an intact PNG, JPEG, WebP or GIF image; "
        "the state is kept without screenshot",
    ]


def test_a_data_root_without_its_screenshots_gives_a_few_warnings(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record(f"t{i}", state(screenshot=f"{i}.png")) for i in range(50)])
    warnings = import_lme_v2(root, store).warnings
    assert len(warnings) == 4
    assert warnings[0].endswith("trajectories.jsonl:1: 1 of 1 screenshots are missing, the first is '0.png'")
    assert warnings[3] == "and 47 more warnings like the last one"


BAD = {
    "duplicate": (record("t1"), r"trajectories.jsonl:4: id 't1' was used before, on line 2"),
    "missing id": (record(""), r'trajectories.jsonl:4: "id" is missing'),
    "no object": (b"[1]", r"trajectories.jsonl:4: a trajectory must be a JSON object, not a list"),
    "no JSON": (b'{"id": ', r"trajectories.jsonl:4: not valid JSON"),
    "empty states": ({"id": "x", "states": []}, r'trajectories.jsonl:4: "states" is empty'),
    "state is no object": (record("x", state(), 5), r"trajectories.jsonl:4: state 1 must be a JSON object"),
    "middle state": (
        record("x", state(), 5, state()),
        r"trajectories.jsonl:4: state 1 must be a JSON object",
    ),
    "path out": (
        record("x", state(screenshot="../x.png")),
        r"trajectories.jsonl:4: state 0: .* leaves the data root",
    ),
    "link out": (
        record("x", state(screenshot="link.png")),
        r"trajectories.jsonl:4: state 0: .* is a link out",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_named_and_mending_it_continues(store: Store, tmp_path: Path, bad: str) -> None:
    line, says = BAD[bad]
    good = [record("t0"), record("t1"), record("t2")]
    root = write_root(tmp_path / "data", [*good, line, record("t9")])  # type: ignore[list-item]
    (root / "link.png").symlink_to("/etc/passwd")
    import_lme_v2(write_root(tmp_path / "earlier", [record("kept")]), store)
    with pytest.raises(DataError, match=says) as caught:
        import_lme_v2(root, store)
    assert "\n" not in str(caught.value)
    assert "kept" in {entry.id for entry in store.entries()}
    assert not list(store.incoming.glob("*/"))
    write_root(root, [*good, record("t9")])
    assert import_lme_v2(root, store).trajectories == 4


def test_an_empty_or_absent_data_root_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no trajectory"):
        import_lme_v2(write_root(tmp_path / "empty", [b"", b" "]), store)
    with pytest.raises(
        DataError, match=r"No such file .* a data root is a folder with trajectories.jsonl in it"
    ):
        import_lme_v2(tmp_path / "absent", store)
    (tmp_path / "odd").mkdir()
    os.mkfifo(tmp_path / "odd" / "trajectories.jsonl")
    with pytest.raises(DataError, match="not a regular file"):
        import_lme_v2(tmp_path / "odd", store)


def test_a_line_of_two_gigabytes_is_refused(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a")])
    with (root / "trajectories.jsonl").open("ab") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(DataError, match=r"trajectories.jsonl:2: the line is longer than 64 MiB"):
        import_lme_v2(root, store)


def test_two_processes_make_what_one_makes(tmp_path: Path) -> None:
    pages = [
        state("\n".join(f"\t[{n}] cell '{n * i}'" for n in range(500)), action=f"click('{i}')")
        for i in range(6)
    ]
    root = write_root(tmp_path / "data", [record(f"t{i}", *pages, goal=f"Goal {i}") for i in range(30)])
    assert (root / "trajectories.jsonl").stat().st_size > 2**20
    one, two = Store.open(tmp_path / "one"), Store.open(tmp_path / "two")
    assert import_lme_v2(root, one, processes=1) == import_lme_v2(root, two, processes=2)
    assert tree(one.trajectories) == tree(two.trajectories)


def test_a_damaged_receipt_costs_time_only(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a")])
    first = import_lme_v2(root, store)
    (receipt,) = store.receipts.iterdir()
    for damage in (b"", b"{}", b"[]", receipt.read_bytes()[:-10]):
        receipt.write_bytes(damage)
        assert import_lme_v2(root, store).slugs == first.slugs


def test_after_a_restart_of_the_machine_files_are_measured_once(store: Store, tmp_path: Path) -> None:
    root = write_root(tmp_path / "data", [record("a"), record("b")])
    slugs = import_lme_v2(root, store).slugs
    (receipt,) = store.receipts.iterdir()
    receipt.write_text(json.dumps({**json.loads(receipt.read_text()), "boot": "an earlier one"}))
    os.truncate(store.get(slugs["a"]).state_path(0), 0)
    report = import_lme_v2(root, store)
    assert (report.slugs, report.reused) == (slugs, 1)
    assert store.intact(slugs["a"])


@pytest.mark.needs("shared")
def test_real_recordings(store: Store, shared: Path) -> None:
    expected = {"code": (107, 6679), "service": (200, 2654), "web": (323, 6554)}
    for name, counts in expected.items():
        report = import_lme_v2(shared / "data" / "realmem" / name, store)
        assert (report.trajectories, report.states) == counts
        assert {store.get(slug).convention for slug in report.slugs.values()} == {Convention.SOURCE}
    entries = store.entries()
    assert sum(len(entry.images) for entry in entries) == 93


def test_a_trajectory_is_found_by_the_id_that_was_recorded(tmp_path: Path, store: Store) -> None:
    raw = "a\x00b\r\nc\x85"
    root = write_root(tmp_path / "odd", [record(raw), record("plain")])
    report = import_lme_v2(root, store, only=[raw])
    assert store.get(report.slugs[raw]).id == recorded_id(raw) == "a\ufffdb\nc\ufffd"
    assert report.slugs[recorded_id(raw)] == report.slugs[raw]
    assert import_lme_v2(root, store, only=[recorded_id(raw)]).reused == 1
    with pytest.raises(DataError, match="has no trajectory"):
        import_lme_v2(root, store, only=["a\x00c"])
