"""One rule turns text into terms: exact names stay findable, word endings do not matter, any script works."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.memory.tokens import TERM_LENGTH, places, stem, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("setup.cfg", {"setup.cfg", "setup", "cfg"}),
        ("UnicodeEncodeError", {"unicodeencodeerror", "unicod", "encod", "error"}),
        ("get_user_details", {"get_user_details", "get", "user", "detail"}),
        (
            "src/marshmallow/fields.py",
            {"src/marshmallow/fields.py", "src", "marshmallow", "fields.py", "field", "py"},
        ),
        ("click('a324')", {"click", "a324"}),
        ("INC0012345", {"inc0012345", "inc", "0012345"}),
        ("2024-05-17", {"2024-05-17", "2024"}),
        ("1,192 models", {"1192", "model"}),
        ("US$1,645.00", {"us", "1645.00", "1645"}),
        ("(a,b)", {"a", "b"}),
        ("東京都庁", {"東京", "京都", "都庁"}),
        ("Zoë's café", {"zoe", "s", "caf"}),
        ("ＡＢＣ", {"abc"}),
        ("\ue604 Report", {"report"}),
        ("🙂 ... -- __ 👩\u200d💻", set()),
        ("שָׁלוֹם אָב/בֵּן", {"שלום", "אב/בן", "אב", "בן"}),
        ("مَرْحَبًا", {"مرحبا"}),
        ("cafe\u0301 x\u030cyz Й", {"caf", "xyz", "и"}),
        ("नमस्ते पड़ा", {"नमस्ते", "पड़ा"}),
        ("தமிழ்", {"தமிழ்"}),
        ("ދިވެހި", {"ދިވެހި"}),
        ("ที่นี่", {"ที", "ี่", "่น", "นี"}),
        ("1\ufe0f\u20e3 葛\U000e0100飾区", {"1", "葛飾", "飾区"}),
        ("inter\u00adnational می\u200cخواهم", {"international", "میخواهم"}),
        ("one\u200btwo three—four", {"one", "two", "thre", "four"}),
    ],
)
def test_a_text_gives_these_terms(text: str, expected: set[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("words", ["मल मूल मेल", "कम काम क्रम", "ਕਲ ਕੱਲ", "ডাল ড়াল"])
def test_signs_that_are_read_as_letters_tell_words_apart(words: str) -> None:
    assert len(terms(words)) == len(words.split())


@pytest.mark.parametrize("word", ["கொடு", "क़लम", "Ångström", "שלוֹם", "각"])
def test_both_ways_to_encode_a_word_give_one_term(word: str) -> None:
    assert terms(normalize("NFD", word)) == terms(normalize("NFC", word)) != set()


@pytest.mark.parametrize(
    "words",
    [
        "file files filed filing",
        "study studies studied studying",
        "class classes",
        "cancel cancels cancelled",
    ],
)
def test_word_endings_do_not_matter(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("words", ["red reed", "thing think", "need needle", "in inn"])
def test_different_words_stay_different(words: str) -> None:
    first, second = words.split()
    assert stem(first) != stem(second)


@given(st.text(max_size=300))
def test_terms_are_short_lower_case_and_hold_nothing_that_an_index_would_split(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= TERM_LENGTH
        assert not set(term) & set(" \t\n\r\0\"'()[]{}*,;<>|=")


@given(st.text(max_size=300))
def test_places_stand_for_the_same_terms_at_their_chunks(text: str) -> None:
    found = places(text)
    assert {term for _, _, own in found for term in own} == terms(text)
    ends = [0] + [end for _, end, _ in found]
    assert all(before <= start < end for before, (start, end, _) in zip(ends, found, strict=False))


def test_a_line_of_five_megabytes_is_no_trouble() -> None:
    blob = "QUJD" * 1_250_000
    assert terms(blob) == {"qujd" * 16}
