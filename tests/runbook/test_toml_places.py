"""Faults of a TOML file are told all at once, each with its line."""

import string
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.toml_places import TomlPlaces, told_faults

TEXT = '''# a comment with [brackets] and key = "value"
name = "a"

[run]
reader.model = "m"
words = """
[not.a.table]
name = "not a key"
"""
pools = [
  "events",   # a comment
  "notes",
]
[[question]]
id = "q-1"
[[question]]
id = "q-2"
  [question.more]
  why = "x"
[arms."a.b"]
memory = { kind = "none" }
'''


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("name",), 2),
        (("run",), 4),
        (("run", "reader", "model"), 5),
        (("run", "words"), 6),
        (("run", "pools", 1), 10),
        (("question", 0, "id"), 15),
        (("question", 1, "id"), 17),
        (("question", 1, "more", "why"), 19),
        (("arms", "a.b", "memory", "kind"), 21),
    ],
)
def test_a_key_is_found_on_its_line(place: tuple[int | str, ...], line: int) -> None:
    assert TomlPlaces(TEXT).line(place) == line


def test_what_is_missing_is_where_it_would_stand() -> None:
    places = TomlPlaces(TEXT)
    assert places.line(("question", 1, "reason")) == 16
    assert places.line(("nothing",)) is None


def test_windows_line_ends_count_once() -> None:
    assert TomlPlaces(TEXT.replace("\n", "\r\n")).line(("question", 1, "id")) == 17


def test_one_fault_is_one_line_and_several_have_a_line_each() -> None:
    places = TomlPlaces(TEXT)
    assert told_faults("a.toml", places, [(("name",), "name: wrong")]) == "a.toml:2: name: wrong"
    several = told_faults(
        "a.toml", places, [(("question", 1, "id"), "second"), (("name",), "first"), ((), "all")]
    )
    assert several.splitlines() == ["a.toml has 3 faults:", "  all", "  line 2: first", "  line 17: second"]


@given(st.text(alphabet=string.ascii_letters + "[]=\"'\n #.{},\\", max_size=80))
def test_no_text_breaks_it(text: str) -> None:
    places = TomlPlaces(text)
    try:
        keys = list(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return
    assert [key for key in keys if places.line((key,)) is None] == []
