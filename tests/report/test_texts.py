"""Text on its way into a page: visible, bounded, never obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.report.redaction import Redactor
from evals.report.room import REPORT_BYTES, room_for, shares
from evals.report.texts import Texts, cut, shown
from tests.report.building import RunBuilder


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", "click"),
        ("\x1b[2J\x1b[H", ""),
        ("a\x00b\x07", "a␀b␇"),
        ("safe\u202egpj.exe", "safe⟨RLO⟩gpj.exe"),
        ("\u2066hidden\u2069", "⟨LRI⟩hidden⟨PDI⟩"),
        ("\ufeffstart\u200b", "⟨BOM⟩start⟨ZWSP⟩"),
        ("half \ud83d surrogate", "half \ufffd surrogate"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\u200d\U0001f469"),
        ("line\r\nline\tend\n", "line\nline\tend\n"),
        ("carriage\rreturn", "carriage␍return"),
        ("z" + "\u0301" * 500, "z" + "\u0301" * 4),
        ("tag \U000e0041", "tag ⟨U+E0041⟩"),
    ],
)
def test_every_character_is_shown_for_what_it_is(raw: str, expected: str) -> None:
    assert shown(raw) == expected


@given(st.text(alphabet=st.characters()))
def test_what_is_shown_has_no_control_characters_and_stays_as_it_is(text: str) -> None:
    once = shown(text)
    assert shown(once) == once
    assert not any(ord(mark) < 0x20 and mark not in "\n\t" for mark in once)
    once.encode()


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))), st.integers(0, 300))
def test_an_excerpt_takes_no_more_bytes_than_it_may_and_wastes_none(text: str, most: int) -> None:
    from markupsafe import escape

    found = cut(Texts().clean(text), most)
    taken = len(str(escape(found.text)).encode())
    assert taken <= most
    if found.left_out:
        longer = Texts().clean(text)[: len(found.text) + 1]
        assert len(str(escape(longer)).encode()) > most


def test_an_excerpt_of_ten_megabytes_says_how_much_is_left_out() -> None:
    found = Texts().excerpt("x" * 10_000_000, 2048)
    assert len(found.text) == 2048
    assert found.left_out == 10_000_000 - 2048


def test_a_secret_at_the_cut_is_gone_whole(world: RunBuilder) -> None:
    key = "sk-" + "ant-" + "a1B2" * 10
    texts = Texts(Redactor([]))
    for before in range(0, 60, 7):
        assert "ant-a1B2" not in texts.excerpt("x" * before + " " + key + " y" * 100, 64).text


def test_short_texts_stay_whole_and_long_ones_share_the_room() -> None:
    assert shares([10, 5000, 20, 5000], 1030, 2048) == [10, 500, 20, 500]
    assert shares([5000], 10_000, 2048) == [2048]
    assert shares([], 100, 2048) == []


@pytest.mark.parametrize("chapters", [0, 1, 40, 451, 902])
def test_the_rooms_of_all_questions_fit_into_a_report(chapters: int) -> None:
    room = room_for(chapters)
    parts = room.pictures + room.note + room.response + room.context + room.diff + room.states
    timeline = room.steps * 2 * room.step
    assert chapters * (parts + timeline) < REPORT_BYTES
