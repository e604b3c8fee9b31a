"""`where` with an index finds the same states as looking through every file does."""

import random

import pytest

from manifests.model import State
from tests.helpers.indexed import Indexed, state, trajectory

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
