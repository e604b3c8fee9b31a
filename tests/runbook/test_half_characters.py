r"""Halves of characters, which JSON's escapes can write, never get from a model's text into a record."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.scoring.judge_reply import lenient_verdict, strict_verdict
from runbook.endpoint.completion import read_reply
from runbook.evidence.text import find_object
from runbook.half_characters import without_halves

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\\u\ud83d\ude00d8"))


@given(value=st.lists(ANY_TEXT))
def test_only_halves_are_replaced_and_nothing_moves(value: list[str]) -> None:
    text = json.dumps(value)
    whole = without_halves(text)
    assert len(whole) == len(text)
    assert json.loads(whole) == [re.sub("[\ud800-\udfff]", "\ufffd", one) for one in json.loads(text)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"\uDFFFx"', "\ufffdx"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\\\ud800"', "\\\ufffd"),
        (r'"\u00e4"', "ä"),
    ],
)
def test_an_escape_is_a_half_or_a_whole(text: str, read: str) -> None:
    assert json.loads(without_halves(text)) == read


HALF = r'{"label": 1, "reason": "cut off: \ud83d"}'


@pytest.mark.parametrize("reader", [strict_verdict, lenient_verdict])
def test_a_judges_reason_can_be_written(reader) -> None:  # type: ignore[no-untyped-def]
    assert reader(HALF) == (1, "cut off: \ufffd")


def test_keys_and_values_of_an_agents_object_can_be_written() -> None:
    found = find_object(rb'{"a": ["\ud800"], "\udfff": {"\udc00": 1}}', {"a"})
    assert found.value == {"a": ["\ufffd"], "\ufffd": {"\ufffd": 1}}
    assert found.repairs == ["halves of characters replaced"]


def test_a_chat_reply_that_was_cut_within_a_character_is_read() -> None:
    body = rb'{"model": "m\udfff", "choices": [{"message": {"content": "good \ud83d", "reasoning": ""}}]}'
    reply = read_reply(body)
    assert (reply.content, reply.model) == ("good \ufffd", "m\ufffd")
