"""The index holds what is new in each state, comes from cached lists, and is replaced when unusable."""

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from helpers.memory import index as reading
from helpers.memory import tokens
from helpers.memory.line_keys import line_keys
from manifests.index import FIELDS, FORMAT, INDEX_FILE, Tokeniser, build_index, is_current
from manifests.model import State, Trajectory
from manifests.store import Store, StoreError
from manifests.views import View, Views

Places = Callable[[str], list[tuple[str, int, str]]]
TOKENISER = Tokeniser(tokens.VERSION, tokens.terms, line_keys)


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
        named = [(*index.layout.place(row >> 3), reading.FIELDS[row & 7]) for row in rows]
        return [(slug.rpartition("-")[0], state, field) for slug, state, field in named]

    return find


def test_both_sides_agree_on_format_fields_and_levels() -> None:
    assert (reading.FORMAT, reading.FIELDS) == (FORMAT, FIELDS)


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


def test_an_index_is_much_smaller_than_the_text_and_reveals_no_time(view: View) -> None:
    path = build_index(view, TOKENISER)
    assert path == view.path / INDEX_FILE
    assert (path.stat().st_mtime, path.stat().st_mode & 0o777) == (946_684_800, 0o644)
    assert view.path.stat().st_mtime == 946_684_800
    assert [p.name for p in view.path.iterdir() if "sqlite" in p.name] == [INDEX_FILE]


def test_a_current_index_is_not_built_again(view: View) -> None:
    first = build_index(view, TOKENISER).stat()
    second = build_index(view, TOKENISER).stat()
    assert (first.st_ino, first.st_ctime_ns) == (second.st_ino, second.st_ctime_ns)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no database" * 1000),
        lambda path: path.write_bytes(path.read_bytes()[:20_000]),
    ],
    ids=["missing", "empty", "foreign", "cut off"],
)
def test_an_index_that_cannot_be_used_is_built_anew(view: View, spoil: Callable[[Path], object]) -> None:
    path = build_index(view, TOKENISER)
    whole = path.stat().st_size
    spoil(path)
    assert not is_current(view, TOKENISER)
    assert build_index(view, TOKENISER).stat().st_size == whole
    assert is_current(view, TOKENISER)


def test_an_index_of_another_format_or_rule_is_built_anew(view: View) -> None:
    path = build_index(view, TOKENISER)
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("UPDATE format SET version = version + 1")
    assert not is_current(view, TOKENISER)
    other = Tokeniser("other", tokens.terms, line_keys)
    build_index(view, other)
    assert is_current(view, other)
    assert not is_current(view, TOKENISER)


def test_a_second_index_reads_no_states(view: View) -> None:
    build_index(view, TOKENISER).unlink()
    for entry in view.entries.values():
        shutil.rmtree(entry.path / "states")
    build_index(view, TOKENISER)
    assert is_current(view, TOKENISER)


@pytest.mark.parametrize(
    "damaged",
    [
        lambda whole: whole[:0],
        lambda whole: whole[:200],
        lambda whole: whole[:-1],
        lambda whole: whole.replace(b"alpha", b"gamma").replace(b"beta", b"zeta"),
        lambda whole: whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:],
    ],
    ids=["empty", "cut off", "without its end", "other words", "one bit"],
)
def test_a_damaged_term_list_is_made_again(
    view: View, store: Store, damaged: Callable[[bytes], bytes]
) -> None:
    whole = build_index(view, TOKENISER).read_bytes()
    (view.path / INDEX_FILE).unlink()
    for path in (store.root / "terms").iterdir():
        path.write_bytes(damaged(path.read_bytes()))
    assert build_index(view, TOKENISER).read_bytes() == whole


def test_a_store_that_cannot_be_written_is_still_indexed(view: View, store: Store) -> None:
    (store.root / "terms").write_text("in the way")
    build_index(view, TOKENISER)
    assert is_current(view, TOKENISER)


def test_a_damaged_state_file_is_a_clear_error(view: View) -> None:
    entry = next(iter(view.entries.values()))
    entry.state_path(1).write_bytes(b"  what follows nothing\n\n")
    with pytest.raises(StoreError, match=r"states/0001.txt is damaged; mend: runbook store verify"):
        build_index(view, TOKENISER)
    assert not (view.path / INDEX_FILE).exists()


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


def test_the_same_view_gives_the_same_bytes(view: View) -> None:
    first = build_index(view, TOKENISER).read_bytes()
    (view.path / INDEX_FILE).unlink()
    assert build_index(view, TOKENISER).read_bytes() == first


def test_lists_made_in_other_processes_are_the_same(store: Store, tmp_path: Path) -> None:
    slugs = [
        store.add(
            Trajectory(f"t{n}", "web", "g", "", None, [State(0, None, "", "", "", f"row {n}", None)]),
            tmp_path,
        ).slug
        for n in range(20)
    ]
    with Views(store).acquire(slugs) as many:
        alone = build_index(many, TOKENISER).read_bytes()
        (many.path / INDEX_FILE).unlink()
        shutil.rmtree(store.root / "terms")
        assert build_index(many, TOKENISER, processes=2).read_bytes() == alone
