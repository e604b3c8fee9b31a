"""Both record forms are read; what cannot be used is refused with file, line and mend."""

import json
from typing import Any

import pytest

from manifests.errors import DataError
from manifests.model import State, Trajectory
from manifests.records import read_record
from tests.manifests.recordings import record, state

WHERE = "data/trajectories.jsonl:7"


def read(raw: Any) -> Trajectory:
    return read_record(json.dumps(raw).encode(), WHERE)[0]


def test_the_modern_form() -> None:
    seen = state("tree", action="click('1')", thought="go", screenshot="screenshots/t1/0.png", step=4)
    assert read(record("t1", seen)) == Trajectory(
        id="t1",
        domain="web",
        goal="Export the orders",
        start_url="http://shop.example/start",
        outcome="success",
        states=[State(0, 4, "http://shop.example/", "click('1')", "go", "tree", "screenshots/t1/0.png")],
    )


def test_the_legacy_form() -> None:
    raw = {
        "id": "old",
        "metadata": {
            "original_goal": ["Export", "the orders"],
            "start_url": "http://a.example",
            "outcome": "failure",
        },
        "content": [
            {
                "url": "http://a.example/1",
                "action": "noop()",
                "thoughts": "wait",
                "step": 3,
                "observation": {"text": "tree", "screenshot": "3.png"},
            }
        ],
    }
    assert read(raw) == Trajectory(
        id="old",
        domain="",
        goal="Export\nthe orders",
        start_url="http://a.example",
        outcome="failure",
        states=[State(0, 3, "http://a.example/1", "noop()", "wait", "tree", "3.png")],
    )


def test_what_may_be_missing_is_empty() -> None:
    found = read({"id": "t", "states": [{"state_index": "8", "text": "seen"}, {}]})
    assert (found.goal, found.start_url, found.outcome) == ("", "", None)
    assert [(s.index, s.step, s.text, s.screenshot) for s in found.states] == [
        (0, "8", "seen", None),
        (1, None, "", None),
    ]


def test_text_that_is_no_text_is_replaced_and_counted() -> None:
    line = b'{"id":"t","goal":"a\xff\xfeb","states":[{"text":"x\\u0000y\\u001bz\\r\\nnext\\ud800"}]}'
    found, replaced = read_record(line, WHERE)
    assert found.goal == "a��b"
    assert found.states[0].text == "x�y�z\nnext�"
    assert replaced == 5


def test_a_byte_order_mark_is_no_fault() -> None:
    assert read_record(b"\xef\xbb\xbf" + json.dumps(record("t")).encode(), WHERE)[1] == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "t", "states": [', "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1, 2]", "must be a JSON object, not a list"),
        (json.dumps(record("")).encode(), '"id" is missing'),
        (json.dumps({"states": [{}]}).encode(), '"id" is missing'),
        (json.dumps({"id": "t", "states": []}).encode(), '"states" is empty'),
        (json.dumps({"id": "t"}).encode(), '"states" must be a list of states, not null'),
        (json.dumps(record("t", state(), "click")).encode(), "state 1 must be a JSON object, not text"),
        (json.dumps(record("t", state(action=3))).encode(), 'state 0: "action" must be text, not a number'),
        (json.dumps(record("t", state(step=[1]))).encode(), '"step" must be a number or text, not a list'),
        (json.dumps(record("t", goal={"a": 1})).encode(), '"goal" must be text, not an object'),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_and_line(line: bytes, says: str) -> None:
    with pytest.raises(DataError) as caught:
        read_record(line, WHERE)
    message = str(caught.value)
    assert message.startswith(f"{WHERE}: ")
    assert says in message
    assert "\n" not in message
