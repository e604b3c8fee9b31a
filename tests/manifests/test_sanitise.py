"""Recorded text is safe to keep: UTF-8, line feeds, no control characters; clean text is untouched."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from manifests.sanitise import Cleaner, are_clean

# Control characters and surrogates are rare in plain text strategies.
ANY = st.text(st.one_of(st.characters(), st.characters(categories=["Cc", "Cs"])), max_size=400)


def unsafe(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]


@given(ANY)
def test_cleaned_text_has_no_unsafe_character_left(text: str) -> None:
    cleaned = Cleaner().clean(text)
    assert unsafe(cleaned) == []
    cleaned.encode()


@given(ANY)
def test_cleaning_replaces_and_counts_nothing_but_the_unsafe(text: str) -> None:
    cleaner = Cleaner()
    cleaned = cleaner.clean(text)
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert cleaner.replaced == len(unsafe(expected))
    assert [c for c in cleaned if c != "�"] == [c for c in expected if c not in unsafe(expected) and c != "�"]


@given(ANY)
def test_clean_text_stays_as_it_is(text: str) -> None:
    once = Cleaner().clean(text)
    again = Cleaner()
    assert again.clean(once) == once
    assert again.replaced == 0


@given(st.lists(st.tuples(ANY, st.sampled_from([1, 20])), max_size=5))
def test_texts_are_clean_when_each_of_them_stays_as_it_is(pieces: list[tuple[str, int]]) -> None:
    texts = [text * times for text, times in pieces]
    assert are_clean(texts) == all(Cleaner().clean(text) == text for text in texts)
