"""Search ranks the states that answer, says why, and stays calm whatever it is asked."""

import json
import shutil
from pathlib import Path

import pytest

from manifests.index_format import LAYOUT
from manifests.model import Convention
from tests.helpers.indexed import Indexed, rewritten, sealed, state, trajectory


def rows(count: int, start: int) -> str:
    """Lines of a table that say nothing."""
    return "\n".join(f"[{n}] gridcell 'Record {n} of the orders'" for n in range(start, start + count))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Two recordings of one task with different outcomes, and one of another site."""
    refund = "Refund the order of Mona Vance"
    tried = [
        state(rows(60, 0), "click('a12')", "I look for the order", "http://shop.test/orders?page=1"),
        state(
            "order 1190 of Mona Vance\nstatus: paid",
            "refund(1190)",
            "This is the order",
            "http://shop.test/order/1190",
        ),
        state("Error E4012: refund window closed\nlimit is 30 days", "", "The refund was refused"),
    ]
    worked = [
        state(rows(60, 100), "click('a14')", "I look for the order", "http://shop.test/orders?page=2"),
        state(
            "order 1190 of Mona Vance\nstatus: paid",
            "force_refund(1190)",
            "I use the override",
            "http://shop.test/order/1190",
        ),
        state("Refund REF-77 booked for 1,645.00", "send_msg_to_user('done')", "The override worked"),
    ]
    forum = [
        state(
            "東京都庁 の電話番号 03-5321-1111",
            "goto('http://forum.test')",
            "A page in Japanese",
            "http://forum.test/tokyo",
        ),
        state("setup.cfg:40: wrapt>=1.11,<1.14", "grep -n wrapt setup.cfg", "Check the pin"),
        state("x" * 3000 + " needle_in_a_long_line " + "y" * 3000, "cat blob", ""),
    ]
    return Indexed.make(
        tmp_path_factory.mktemp("shop"),
        [
            trajectory("tried", tried, refund, "failure"),
            trajectory("worked", worked, refund),
            trajectory("forum", forum, "Find the phone number of the city hall"),
        ],
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("E4012", ("tried", 2)),
        ("which error closed the refund window", ("tried", 2)),
        ("override booking REF-77", ("worked", 2)),
        ("refunds booked", ("worked", 2)),
        ("1645.00", ("worked", 2)),
        ("wrapt pin in setup.cfg", ("forum", 1)),
        ("東京の電話", ("forum", 0)),
        ("needle_in_a_long_line", ("forum", 2)),
        ("force_refund", ("worked", 1)),
    ],
)
def test_the_state_that_answers_comes_first(shop: Indexed, words: str, expected: tuple[str, int]) -> None:
    done = shop.memory("search", words)
    assert done.code == 0
    assert done.hits()[0] == expected


def test_a_hit_says_where_the_words_stand_and_shows_the_line(shop: Indexed) -> None:
    out = shop.memory("search", "error of the refund window").out
    first, second = out.splitlines()[1:3]
    assert "observation: error, window, refund" in first
    assert "thought: refund" in first
    assert "goal: refund" in first
    assert "E4012: refund window closed" in second


def test_a_long_line_is_shown_around_the_match(shop: Indexed) -> None:
    excerpt = shop.memory("search", "needle_in_a_long_line").out.splitlines()[2]
    assert "needle_in_a_long_line" in excerpt
    assert len(excerpt) < 500


def test_filters_keep_only_what_they_name(shop: Indexed) -> None:
    assert {
        name for name, _ in shop.memory("search", "refund order", "--in", shop.slugs["worked"]).hits()
    } == {"worked"}
    assert shop.memory("search", "order", "--url", "page=2").hits() == [("worked", 0)]
    assert shop.memory("search", "override", "--field", "thought").hits() == [("worked", 2), ("worked", 1)]
    assert shop.memory("search", "city hall", "--field", "goal").hits() == [("forum", 0)]
    assert len(shop.memory("search", "order", "--limit", "2").hits()) == 2


def test_addresses_are_found_without_the_table_of_states(shop: Indexed) -> None:
    table = (shop.root / "haystack" / "states.tsv").resolve()
    asked = {
        part: shop.memory("search", "order", "--url", part).hits() for part in ("PAGE=2", "t/order/", "?")
    }
    table.rename(table.with_name("aside"))
    try:
        assert {part: shop.memory("search", "order", "--url", part).hits() for part in asked} == asked
        assert asked["PAGE=2"] == [("worked", 0)]
    finally:
        table.with_name("aside").rename(table)


def test_a_quoted_phrase_comes_first(shop: Indexed) -> None:
    assert shop.memory("search", '"status: paid" refund window').hits()[0][1] == 1


def test_nothing_found_is_said_with_the_next_step(shop: Indexed) -> None:
    done = shop.memory("search", "zeppelin")
    assert (done.code, done.err) == (1, "")
    assert "memory grep" in done.out


@pytest.mark.parametrize(
    "words",
    [
        'AND OR NOT NEAR(a, b) "',
        "col:term ^x * -- ; DROP TABLE terms",
        "the of and is",
        "x" * 100_000,
        "word " * 20_000,
        "refund\tорденъ\u202e\u200b𝒳",
        "%s %d \\ \\n $(id) `id`",
    ],
    ids=[
        "operators",
        "columns",
        "stop words",
        "long word",
        "many words",
        "odd letters",
        "shell",
    ],
)
def test_hostile_words_end_in_hits_or_a_clear_line(shop: Indexed, words: str) -> None:
    done = shop.memory("search", words)
    assert done.code in (0, 1)
    assert done.err == ""
    assert len(done.out.encode()) <= 12_000


@pytest.mark.parametrize("words", ["🙂 🙂 ...", "(((((]]]]]{{{", "'\"'\"'\"", "", "  "])
def test_words_without_a_letter_are_an_error_that_names_another_way(shop: Indexed, words: str) -> None:
    done = shop.memory("search", words)
    assert done.code == 2
    assert "memory grep -F" in done.err


@pytest.mark.parametrize("line", [["search", "refund"], ["similar", "worked", "0"], ["candidates"]])
def test_no_results_are_never_asked_for(shop: Indexed, line: list[str]) -> None:
    words = [shop.slugs.get(word, word) for word in line]
    done = shop.memory(*words, "--limit", "0")
    assert done.code == 2
    assert "--limit must be a whole number from 1 up to nine digits, not '0'" in done.err


def test_an_unknown_field_names_the_fields(shop: Indexed) -> None:
    done = shop.memory("search", "x", "--field", "body")
    assert done.code == 2
    assert "goal, url, title, action, thought, observation" in done.err


def test_similar_finds_the_same_page_in_another_recording(shop: Indexed) -> None:
    done = shop.memory("similar", shop.slugs["tried"], "1")
    assert done.hits()[0] == ("worked", 1)
    assert ("tried", 1) not in done.hits()


def test_candidates_answer_the_question_and_its_parts_with_commands(shop: Indexed) -> None:
    shop.ask("What did the refused refund of Mona Vance say?\nA. E4012\nB. REF-77\nC. E9999")
    done = shop.memory("candidates")
    assert done.code == 0
    assert f"verify: memory state {shop.slugs['tried']} 2" in done.out
    assert "## for REF-77" in done.out
    assert "in no state: E9999" in done.out
    assert len(done.out.encode()) <= 8_192


def test_candidates_as_json_hold_the_same(shop: Indexed) -> None:
    shop.ask("Which error closed the refund window?")
    found = json.loads(shop.memory("candidates", "--json").out)
    assert (found["best"][0]["trajectory_id"], found["best"][0]["state"]) == ("tried", 2)
    assert found["best"][0]["command"] == f"memory state {shop.slugs['tried']} 2"
    assert "E4012" in found["best"][0]["excerpt"]
    assert json.loads(shop.memory("candidates", "--json", "--max-bytes", "1500").out)["best"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"question": ""}', '{"question": 7}', "{", "\ufeff{}", '{"image": 1}']
)
def test_a_damaged_question_is_one_clear_line(tmp_path: Path, text: str) -> None:
    place = Indexed.make(tmp_path, [trajectory("one", [state("text")])])
    (place.root / "question.json").write_text(text)
    done = place.memory("candidates")
    assert done.code == 2
    assert "question.json" in done.err
    assert len(done.err.splitlines()) <= 2


def spoiled(place: Indexed, how: str) -> Indexed:
    """The workspace with its index taken away, damaged or made for another version."""
    path = place.index / LAYOUT
    whole = path.read_bytes()
    if how == "missing":
        shutil.rmtree(place.index)
    elif how == "damaged":
        rewritten(path, whole[:20] + b"\xff" * 9000)
    elif how == "cut off":
        rewritten(path, whole[:-9])
    else:
        rewritten(path, sealed(whole.replace(b"runbook-index 3", b"runbook-index 99")))
    return place


@pytest.mark.parametrize("how", ["missing", "damaged", "cut off", "other version"])
def test_without_a_usable_index_the_files_are_searched_and_it_says_why(tmp_path: Path, how: str) -> None:
    pages = [state(f"page {n} shows widget{n}") for n in range(5)]
    place = spoiled(
        Indexed.make(tmp_path, [trajectory("one", pages), trajectory("two", [state("else")])]), how
    )
    done = place.memory("search", "widget3")
    assert done.hits()[0] == ("one", 3)
    assert done.out.startswith("(")
    assert ("FTS5" if how == "no FTS5" else "index") in done.out.splitlines()[0]
    assert place.memory("similar", place.slugs["one"], "1").code == 2


def test_a_state_file_that_vanished_is_no_crash(tmp_path: Path) -> None:
    place = Indexed.make(tmp_path, [trajectory("one", [state("alpha beta"), state("alpha gamma")])])
    shutil.rmtree((place.root / "haystack").resolve() / "trajectories" / place.slugs["one"])
    done = place.memory("search", "alpha")
    assert done.code == 0
    assert len(done.hits()) == 2


def test_the_step_that_led_to_a_state_counts_only_where_actions_come_before(tmp_path: Path) -> None:
    def pages() -> list[object]:
        return [state("start"), state("menu", "run the frobnicator"), state("result 42"), state("end")]

    source = Indexed.make(tmp_path / "s", [trajectory("one", pages())])  # type: ignore[arg-type]
    destination = Indexed.make(tmp_path / "d", [trajectory("one", pages())], Convention.DESTINATION)  # type: ignore[arg-type]
    assert ("one", 2) in source.memory("search", "frobnicator").hits()
    assert destination.memory("search", "frobnicator").hits() == [("one", 1)]


def test_words_with_marks_are_found_however_they_are_written(tmp_path: Path) -> None:
    pages = ["שָׁלוֹם לְכֻלָּם", "नमस्ते दुनिया", "مَرْحَبًا بالعالم", "nothing at all"]
    made = Indexed.make(tmp_path, [trajectory("greetings", [state(page) for page in pages])])
    for number, word in enumerate(("שלום", "नमस्ते", "مرحبا")):
        assert made.memory("search", word).hits() == [("greetings", number)]
    assert made.memory("search", "नमस").code == 1
    made.ask("नमस्ते दुनिया 03-5321")
    assert "## for" not in made.memory("candidates").out  # these are plain words, no names
