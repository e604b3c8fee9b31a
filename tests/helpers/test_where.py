"""`where` with an index finds the same states as looking through every file does."""

import random
import re
from collections.abc import Callable

import pytest

from helpers.memory.haystack import plain
from manifests.model import State
from tests.helpers.indexed import Indexed, rewritten, state, trajectory

WORDS = (
    "Export",
    "order",
    "setup.cfg",
    "2024-05-17",
    "1,234",
    "設定を保存",
    "naïve",
    "a/b",
    "INC0012",
    "it's",
)


def recording(rng: random.Random) -> list[State]:
    """Ten states that share a menu and repeat some of the lines of those before."""
    lines = [f"link '{rng.choice(WORDS)} {rng.choice(WORDS)}', visible" for _ in range(6)]
    states = []
    for number in range(10):
        lines[rng.randrange(6)] = f"cell '{rng.choice(WORDS)}  {rng.choice(WORDS)} {rng.choice(WORDS)}'"
        tree = "\n".join(f"\t[{rng.randrange(999)}] {line}" for line in ["menu 'File'", *lines])
        thought = f"Look at {rng.choice(WORDS)} now"
        states.append(state(f"RootWebArea 'Page {number // 3}'\n{tree}", f"click('{number}')", thought))
    return states


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    rng = random.Random(5)
    recordings = [trajectory(f"run-{n}", recording(rng)) for n in range(5)]
    return Indexed.make(tmp_path_factory.mktemp("pages"), recordings)


def shown(pages: Indexed, text: str) -> int:
    """How many state files have the text on a line."""
    return sum(text in path.read_text() for path in (pages.root / "haystack").glob("trajectories/*/0*.txt"))


def counted(pages: Indexed, text: str) -> int:
    done = pages.memory("where", text)
    assert done.code == (0 if done.out.startswith("# ") else 1), done.err
    return int(done.out.split()[1]) if done.code == 0 else 0


def test_every_line_is_found_in_every_state_that_shows_it(pages: Indexed) -> None:
    rng = random.Random(1)
    for path in rng.sample(sorted((pages.root / "haystack").glob("trajectories/*/0*.txt")), 12):
        line = rng.choice(path.read_text().splitlines()[4:]).strip().partition("] ")[2]
        if line:
            assert counted(pages, line) == shown(pages, line), line


@pytest.mark.parametrize(
    "text",
    [
        "Page 2'",  # from within a line
        "menu 'File'",
        "Look at Export now",
        "thought: Look at order now",  # the header's own word is not indexed
        "action: click('3')",
        "xport",  # a part of a word
        "http://",
        "設定を",
        "234",
        "etup.cfg  order",
        "no such text at all",
        "'",
    ],
)
def test_parts_of_lines_and_of_words_are_found(pages: Indexed, text: str) -> None:
    assert counted(pages, text) == shown(pages, text)


MENU = "\n".join(f"\t[{n}] link 'Menu {n}', clickable" for n in range(5))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Three recordings with one menu; 'Orders' is a line, a part of longer lines, and part of a word."""
    pages = [
        f"RootWebArea 'P{n}'\n{MENU}\n\t[{n + 50}] Orders" + "\n\t[3] Orders of May" * (n % 2)
        for n in range(6)
    ]

    def page(text: str) -> State:
        return state(text, thought="Look", url=f"http://shop.test/?a=({len(text) % 2})")

    recordings = [
        trajectory(f"run-{n}", [page(text) for text in (*pages[: n + 2], "Reorders", *pages[4:])])
        for n in range(3)
    ]
    return Indexed.make(tmp_path_factory.mktemp("shop"), recordings)


def listed(shop: Indexed, text: str) -> dict[str, str]:
    rows = [line for line in shop.memory("where", text).out.splitlines() if line[:1] not in "#("]
    return {slug.rpartition("-")[0]: ranges for slug, _, ranges in (row.partition(": ") for row in rows)}


def test_a_line_is_told_from_longer_ones(shop: Indexed) -> None:
    assert listed(shop, "Orders") == {"run-0": "0-1,3-4", "run-1": "0-2,4-5", "run-2": "0-3,5-6"}
    assert listed(shop, "\t[77] Orders of May") == {"run-0": "1,4", "run-1": "1,5", "run-2": "1,3,6"}
    assert listed(shop, "Reorders") == {"run-0": "2", "run-1": "3", "run-2": "4"}
    assert "within longer lines too" in shop.memory("where", "Orders").out


def test_every_line_of_every_state_is_found_with_and_without_the_index(shop: Indexed) -> None:
    shown: dict[str, set[str]] = {}
    for path in (shop.root / "haystack").glob("trajectories/*/0*.txt"):
        for line in map(plain, path.read_text().splitlines()):
            shown.setdefault(line, set()).add(f"{path.parent.name} {int(path.stem)}")
    index = shop.index
    for line in sorted(shown.keys() - {""}):
        assert counted(shop, line) == len(shown[line]), line
    asked = ("Orders", "link 'Menu 3', clickable", "http://shop.test/?a=(1)", "url: ", "reorder", "Look")
    found = {line: listed(shop, line) for line in asked}
    assert found["http://shop.test/?a=(1)"] == listed(shop, "url: http://shop.test/?a=(1)") != {}
    index.rename(index.with_name("aside"))
    assert {line: listed(shop, line) for line in found} == found
    index.with_name("aside").rename(index)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole.replace(b"0-", b"9-"),
        lambda whole: whole.replace(b"0-", b"x-"),
        lambda whole: whole.replace(b"0-4", b"0-9"),
        lambda whole: re.sub(rb"[0-9]-[0-9]", b"   ", whole),
    ],
    ids=["cut off", "backwards", "no numbers", "too far", "no ranges"],
)
def test_a_damaged_table_of_lines_hides_nothing(shop: Indexed, damage: Callable[[bytes], bytes]) -> None:
    wholes = {path: path.read_bytes() for path in shop.index.glob("run-*")}
    assert any(damage(whole) != whole for whole in wholes.values())
    for path, whole in wholes.items():
        rewritten(path, damage(whole))
    done = shop.memory("where", "link 'Menu 3', clickable")
    assert (done.code, done.err, done.out.split("\n")[0]) == (0, "", "# 15 states in 3 trajectories")
    for path, whole in wholes.items():
        rewritten(path, whole)
