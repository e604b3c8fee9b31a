"""The index holds what is new in each state, comes from cached lists, and is replaced when unusable."""

import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace as replaced
from pathlib import Path

import pytest

from helpers.memory import index as reading
from helpers.memory import index_files, index_part, tokens
from helpers.memory.failure import NoIndexError
from helpers.memory.keys import line_keys, term_keys
from manifests.index import Tokeniser, build_index, is_current
from manifests.index_format import FIELDS, FORMAT, INDEX_FOLDER, LAYOUT
from manifests.index_parts import PARTS_FOLDER, abandoned_parts
from manifests.index_reading import IndexMissingError, ViewIndex
from manifests.linking import Copier, Linker
from manifests.maintenance import verify_views
from manifests.model import State, Trajectory
from manifests.store import Store, StoreError
from manifests.views import View, Views
from tests.waiting import churn

Places = Callable[[str], list[tuple[str, int, str]]]
TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, term_keys, line_keys)


def page(title: str, body: str, ids: int) -> str:
    """An accessibility tree with a menu whose element ids differ from page to page."""
    menu = "\n".join(f"\t[{ids + n}] link 'Catalogue {n}', clickable" for n in range(30))
    return f"RootWebArea '{title}', focused\n{menu}\n\t[{ids + 99}] StaticText '{body}'"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def view(store: Store, tmp_path: Path) -> View:
    """Two trajectories of three pages each, with the same menu everywhere."""
    slugs = []
    for name in ("alpha", "beta"):
        states = [
            State(
                n,
                None,
                f"http://shop.test/{name}/{n}",
                f"click('{100 * n + 199}')",
                "I look at the orders" if n < 2 else "Done",
                page(f"Orders {name}", f"Invoice {name}-{n}", 100 * n + 100),
                None,
            )
            for n in range(3)
        ]
        trajectory = Trajectory(name, "web", f"Find the invoice of {name}", "http://shop.test/", None, states)
        slugs.append(store.add(trajectory, tmp_path).slug)
    return Views(store).acquire(slugs)


@pytest.fixture
def places(view: View) -> Places:
    """Where a word stands in the built index: trajectory, state, field."""
    path = build_index(view, TOKENISER)

    def find(word: str) -> list[tuple[str, int, str]]:
        index = reading.Index(str(path))
        (term,) = tokens.pieces(word)[:1]
        rows = index.postings(term)
        named = [(*index.layout.place(row >> 3), index_files.FIELDS[row & 7]) for row in rows]
        return [(slug.rpartition("-")[0], state, field) for slug, state, field in named]

    return find


def test_both_sides_agree_on_format_fields_and_levels() -> None:
    assert (index_part.FORMAT, index_files.FIELDS) == (FORMAT, FIELDS)
    assert (index_files.FOLDER, index_files.LAYOUT) == (INDEX_FOLDER, LAYOUT)


def test_both_sides_read_the_same(view: View) -> None:
    in_sandbox = reading.Index(str(build_index(view, TOKENISER)))
    on_host = ViewIndex(view.path, TOKENISER.version)
    assert on_host.slugs == in_sandbox.layout.slugs
    assert on_host.firsts.tolist() == [*in_sandbox.layout.firsts, in_sandbox.layout.count]
    assert [bytes(row) for row in on_host.levels] == [in_sandbox.lengths(n) for n in range(len(FIELDS))]
    terms = [*tokens.terms("Catalogue 3 alpha-2 invoice beta shop.test"), "absent"]
    found = on_host.postings(list(term_keys(terms)))
    assert [one.tolist() for one in found] == [in_sandbox.postings(term) for term in terms]
    assert max(map(len, found)) > 0


def test_a_line_counts_where_it_first_appears_though_its_element_ids_change(places: Places) -> None:
    assert [state for name, state, field in places("Catalogue") if name == "alpha"] == [0]
    assert ("alpha", 2, "observation") in places("alpha-2")
    assert ("alpha", 1, "observation") not in places("alpha-2")


def test_every_field_is_searchable_by_itself(places: Places) -> None:
    assert ("beta", 0, "goal") in places("invoice")
    assert ("beta", 2, "title") in places("orders")
    assert ("beta", 1, "url") in places("http://shop.test/beta/1")
    assert ("alpha", 1, "action") in places("click")
    assert ("alpha", 1, "action") in places("alpha-1")  # from the annotation: the element's own line
    assert ("alpha", 2, "thought") in places("done")


def test_a_thought_that_goes_on_counts_once(places: Places) -> None:
    assert [state for name, state, field in places("look") if (name, field) == ("alpha", "thought")] == [0]


def listed(folder: Path) -> dict[str, bytes]:
    """What the files of an index hold, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_index_is_links_to_the_stores_parts_and_reveals_no_time(view: View, store: Store) -> None:
    folder = build_index(view, TOKENISER)
    assert folder == view.path / INDEX_FOLDER
    assert {path.name for path in folder.iterdir()} == {*view.entries, LAYOUT}
    for slug in view.entries:
        assert (folder / slug).samefile(store.root / "index" / slug)
    for path in (folder, *folder.iterdir()):
        assert (path.stat().st_mtime, path.stat().st_mode & 0o777) == (
            946_684_800,
            0o755 if path.is_dir() else 0o644,
        )
    assert view.path.stat().st_mtime == 946_684_800


def test_the_index_of_a_private_view_shares_no_file_with_the_store(view: View, store: Store) -> None:
    with Views(store).acquire(view.entries, private=True) as private:
        folder = build_index(private, TOKENISER)
        assert not any((folder / slug).samefile(store.root / "index" / slug) for slug in view.entries)
        assert listed(folder) == listed(build_index(view, TOKENISER))


def test_a_view_takes_no_more_room_for_what_it_links_to(view: View, store: Store) -> None:
    views = Views(store)
    before = views.size(view.path.name)
    folder = build_index(view, TOKENISER)
    assert views.size(view.path.name) == before + (folder / LAYOUT).stat().st_size


def test_a_current_index_is_not_built_again(view: View) -> None:
    first = build_index(view, TOKENISER).stat()
    second = build_index(view, TOKENISER).stat()
    assert (first.st_ino, first.st_ctime_ns) == (second.st_ino, second.st_ctime_ns)


def add_row(store: Store, number: int, data: Path) -> str:
    """Add a trajectory of one state; its slug."""
    states = [State(0, None, "", "", "", f"row {number}", None)]
    return store.add(Trajectory(f"t{number}", "web", "g", "", None, states), data).slug


def replace(path: Path, content: bytes) -> None:
    """Write a file anew: what else is linked to it stays as it is."""
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        shutil.rmtree,
        lambda folder: (folder / LAYOUT).unlink(),
        lambda folder: replace(folder / LAYOUT, b""),
        lambda folder: replace(folder / LAYOUT, b"no layout" * 1000),
        lambda folder: replace(folder / LAYOUT, (folder / LAYOUT).read_bytes()[:-9]),
        lambda folder: replace(folder / LAYOUT, (folder / LAYOUT).read_bytes().replace(b"alpha", b"gamma")),
        lambda folder: next(folder.glob("alpha*")).unlink(),
        lambda folder: replace(next(folder.glob("beta*")), b"cut off"),
    ],
    ids=["missing", "no layout", "empty", "foreign", "cut off", "other words", "no part", "a part cut off"],
)
def test_an_index_that_cannot_be_used_is_built_anew(view: View, spoil: Callable[[Path], object]) -> None:
    folder = build_index(view, TOKENISER)
    whole = listed(folder)
    spoil(folder)
    assert not is_current(view, TOKENISER)
    assert listed(build_index(view, TOKENISER)) == whole
    assert is_current(view, TOKENISER)


def test_an_index_of_another_rule_is_built_anew(view: View) -> None:
    build_index(view, TOKENISER)
    other = Tokeniser("other", tokens.terms, term_keys, line_keys)
    build_index(view, other)
    assert is_current(view, other)
    assert not is_current(view, TOKENISER)


def test_a_second_index_reads_no_states(view: View) -> None:
    shutil.rmtree(build_index(view, TOKENISER))
    for entry in view.entries.values():
        shutil.rmtree(entry.path / "states")
    build_index(view, TOKENISER)
    assert is_current(view, TOKENISER)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda whole: whole[:0],
        lambda whole: whole[:20],
        lambda whole: whole[:200],
        lambda whole: whole[:-1],
        lambda whole: whole + b"0",
        lambda whole: whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:],
    ],
    ids=["empty", "head cut off", "cut off", "without its end", "too long", "one bit"],
)
def test_a_damaged_part_is_made_again(view: View, store: Store, damaged: Callable[[bytes], bytes]) -> None:
    folder = build_index(view, TOKENISER)
    whole = listed(folder)
    shutil.rmtree(folder)
    for path in (store.root / "index").iterdir():
        path.write_bytes(damaged(path.read_bytes()))
    assert listed(build_index(view, TOKENISER)) == whole


def test_parts_of_two_trajectories_in_each_others_place_are_not_used(view: View) -> None:
    folder = build_index(view, TOKENISER)
    one, other = (folder / slug for slug in sorted(view.entries))
    first, second = one.read_bytes(), other.read_bytes()
    replace(one, second)
    replace(other, first)
    with pytest.raises(IndexMissingError, match="damaged"):
        ViewIndex(view.path, TOKENISER.version).postings([0])
    with pytest.raises(NoIndexError, match="damaged"):
        reading.Index(str(folder)).postings("invoice")


def test_a_store_that_cannot_be_written_is_still_indexed(view: View, store: Store) -> None:
    (store.root / "index").write_text("in the way")
    folder = build_index(view, TOKENISER)
    assert is_current(view, TOKENISER)
    (found,) = ViewIndex(view.path, TOKENISER.version).postings(list(term_keys(["invoic"])))
    assert found.tolist() == reading.Index(str(folder)).postings("invoic") != []


def test_a_store_that_keeps_no_parts_has_them_made_once(store: Store, tmp_path: Path) -> None:
    slugs = [add_row(store, number, tmp_path) for number in range(20)]
    (store.root / "index").write_text("in the way")
    made: list[str] = []

    def terms(text: str) -> set[str]:  # no other process could be given this function
        made.append(text)
        return tokens.terms(text)

    with Views(store).acquire(slugs) as many:
        build_index(many, replaced(TOKENISER, terms=terms), processes=2)
        assert is_current(many, TOKENISER)
    assert sorted(text for text in made if text.startswith("row")) == sorted(f"row {n}" for n in range(20))


class Removing(Linker):
    """A linker whose every file somebody removes just before."""

    def link(self, source: str, target: str) -> None:
        Path(source).unlink(missing_ok=True)
        super().link(source, target)


class RemovingCopier(Removing, Copier):
    """The same for copies."""


@pytest.mark.parametrize("private", [False, True])
def test_a_part_that_somebody_removes_meanwhile_is_in_the_view_all_the_same(
    view: View, store: Store, monkeypatch: pytest.MonkeyPatch, private: bool
) -> None:
    whole = listed(build_index(view, TOKENISER))
    shutil.rmtree(view.path / INDEX_FOLDER)
    monkeypatch.setattr("manifests.index.Linker", Removing)
    monkeypatch.setattr("manifests.index.Copier", RemovingCopier)
    with Views(store).acquire(view.entries, private=private) as again:
        assert listed(build_index(again, TOKENISER)) == whole
    assert list((store.root / PARTS_FOLDER).iterdir()) == []


class KilledError(BaseException):
    """The process ends here."""


def test_building_again_heals_a_view_whose_builder_was_killed(
    view: View, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def utime(path: object, *, ns: tuple[int, int], real: Callable[..., None] = os.utime) -> None:
        if path == view.path:
            raise KilledError
        real(path, ns=ns)

    with monkeypatch.context() as patch:
        patch.setattr("os.utime", utime)
        with pytest.raises(KilledError):
            build_index(view, TOKENISER)
    assert is_current(view, TOKENISER)
    build_index(view, TOKENISER)
    assert verify_views(Views(store)) == []


def test_a_long_trajectory_has_wider_postings(store: Store, tmp_path: Path) -> None:
    states = [State(n, None, "", "", "", f"RootWebArea 'p'\nrow{n}", None) for n in range(8300)]
    slug = store.add(Trajectory("long", "web", "", "", None, states), tmp_path).slug
    with Views(store).acquire([slug]) as long:
        index = reading.Index(str(build_index(long, TOKENISER)))
        assert [row >> 3 for row in index.postings("row8299")] == [8299]
        keys = index_part.split(line_keys(["row8299", "absent", "RootWebArea 'p'"]))
        assert list(index.lines(keys)) == [(0, 0, [8299]), (0, 2, list(range(8300)))]
        (found,) = ViewIndex(long.path, TOKENISER.version).postings(list(term_keys(["row8299"])))
        assert found.tolist() == index.postings("row8299")


def test_a_damaged_state_file_is_a_clear_error(view: View) -> None:
    entry = next(iter(view.entries.values()))
    entry.state_path(1).write_bytes(b"  what follows nothing\n\n")
    with pytest.raises(StoreError, match=r"states/0001.txt is damaged; mend: runbook store verify"):
        build_index(view, TOKENISER)
    assert not (view.path / INDEX_FOLDER).exists()


def test_builders_at_the_same_time_leave_one_whole_index(view: View) -> None:
    failed: list[BaseException] = []

    def build() -> None:
        try:
            build_index(view, TOKENISER)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=build) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert is_current(view, TOKENISER)


def test_parts_that_others_write_meanwhile_are_not_abandoned(view: View, store: Store) -> None:
    build_index(view, TOKENISER)
    folder = store.root / PARTS_FOLDER
    with churn(folder, "."):
        assert [abandoned_parts(folder) for _ in range(300)] == [[]] * 300


def test_parts_made_in_other_processes_are_the_same(store: Store, tmp_path: Path) -> None:
    slugs = [add_row(store, number, tmp_path) for number in range(20)]
    with Views(store).acquire(slugs) as many:
        folder = build_index(many, TOKENISER)
        alone = listed(folder)
        shutil.rmtree(folder)
        shutil.rmtree(store.root / "index")
        assert listed(build_index(many, TOKENISER, processes=2)) == alone


def test_common_terms_are_counted_over_all_parts(store: Store, tmp_path: Path) -> None:
    slugs = [
        store.add(
            Trajectory(
                f"t{n}",
                "web",
                "goal",
                "",
                None,
                [State(i, None, "", "", "", f"common {n}-{i}", None) for i in range(340)],
            ),
            tmp_path,
        ).slug
        for n in range(3)
    ]
    with Views(store).acquire(slugs) as many:
        index = reading.Index(str(build_index(many, TOKENISER)))
        assert (index.is_common("common"), index.is_common("goal")) == (True, False)
        assert index.frequency("common") == len(index.postings("common")) == 1020
        assert index.frequency("goal") == 3
