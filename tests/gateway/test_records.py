"""What stays of an attempt: every call, every body once, and the sums."""

import json
import threading
import time

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook.gateway import Bodies, Usage, Wire, load_calls, load_request
from runbook.gateway.bodies import BODIES, CALLS
from runbook.gateway.parts import Splitter, join
from tests.gateway.scripted import CHAT, SSE, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | FLOATS
    | st.text(st.characters(exclude_categories=("Cs",)))
    | st.just("x" * 300),
    lambda values: (
        st.lists(values, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "messages", "$part", "$list", "$plain"]), values, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["messages", "tools", "$list", "$plain"]), JSON_VALUES), max_size=4
    )
)
def test_any_bodies_in_any_order_come_back_exactly(bodies):
    splitter, stored = Splitter(), {}
    roots = []
    for body in bodies:
        root, parts = splitter.split(body)
        stored.update(parts)
        roots.append(root)
    assert [join(root, stored.__getitem__) for root in roots] == bodies


def test_a_conversation_grows_by_its_new_part_only():
    splitter = Splitter()
    messages = [{"role": "user", "content": f"message {number}"} for number in range(500)]
    splitter.split({"messages": messages[:-1]})
    _, parts = splitter.split({"messages": messages})
    assert sum(map(len, parts.values())) < 400


def test_a_conversation_is_continued_though_its_last_messages_changed():
    splitter, stored = Splitter(), {}
    messages = [{"content": str(number)} for number in range(500)]
    marked = [*messages[:-1], {**messages[-1], "cache_control": {"type": "ephemeral"}}]
    stored.update(splitter.split({"messages": marked})[1])
    root, parts = splitter.split({"messages": [*messages, {"content": "new"}]})
    assert sum(map(len, parts.values())) < 400
    assert join(root, {**stored, **parts}.__getitem__)["messages"] == [*messages, {"content": "new"}]


def test_a_request_comes_back_exactly_and_its_image_is_stored_once(attempt, provider):
    provider.answers = [chat_stream()]
    image = "data:image/png;base64," + "QUJD" * 5000
    first = chat_request({"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}}]})
    second = chat_request(*first["messages"], {"role": "user", "content": "and?"}, temperature=0.5)
    opened = attempt()
    opened.post(CHAT, first)
    opened.post(CHAT, second)
    opened.line.close()
    calls = load_calls(opened.folder)
    assert [load_request(opened.folder, call) for call in calls] == [first, second]
    assert (opened.folder / BODIES).stat().st_size < 1.2 * len(image)


def test_the_answer_is_kept_as_the_agent_received_it(attempt, provider):
    provider.answers = [Scripted([b"\xff\xfe raw"])]
    opened = attempt()
    received = opened.post(CHAT, chat_request()).content
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert Bodies(opened.folder).response(call) == received == b"\xff\xfe raw"


def test_lone_surrogates_are_forwarded_and_kept_as_they_came(attempt, provider):
    provider.answers = [chat_stream()]
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}'
    opened = attempt()
    assert opened.client.post(CHAT, content=body).status_code == 200
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert provider.asked[0].body == load_request(opened.folder, call) == body
    assert call.request_is_json is False


def test_a_tool_result_is_recorded_with_the_first_request_that_carries_it(attempt, provider):
    provider.answers = [chat_stream()]
    result = {"role": "tool", "tool_call_id": "c1", "content": "line\n" * 1000}
    opened = attempt()
    opened.post(CHAT, chat_request(result))
    opened.post(CHAT, chat_request(result, {"role": "user", "content": "go on"}))
    opened.line.close()
    calls = load_calls(opened.folder)
    assert [[result.id for result in call.tool_results] for call in calls] == [["c1"], []]
    assert load_request(opened.folder, calls[1])["messages"][0] == result
    stored = sum((opened.folder / name).read_bytes().count(b"line\\nline\\n") > 0 for name in (CALLS, BODIES))
    assert stored == 1


def test_calls_carry_what_was_said_what_it_used_and_when(attempt, provider):
    first = event({"model": "m", "choices": [{"index": 0, "delta": {"content": "a"}}]})
    end = event(
        {"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    )
    go_on = threading.Event()
    provider.answers = [Scripted([first, go_on, end], type=SSE, before=0.1)]
    opened = attempt()
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        for _ in answer.iter_raw():
            time.sleep(0.15)
            go_on.set()
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert (call.number, call.wire, call.status, call.outcome) == (1, Wire.OPENAI_CHAT, 200, None)
    assert (call.requested_model, call.actual_model, call.text) == ("m", "m", "a")
    assert call.usage == Usage(fresh_input=7, output=2)
    assert 0.1 <= call.first_byte_seconds < call.last_byte_seconds
    assert call.last_byte_seconds - call.first_byte_seconds >= 0.15
    assert call.requested_at.endswith("Z")
    assert call.cost_usd is None


def test_facts_are_the_sum_of_the_calls(attempt, provider):
    provider.answers = [
        chat_stream(),
        chat_stream(prompt_tokens=50),
        Scripted([event({"choices": [{"finish_reason": "stop"}]})], type=SSE),
    ]
    opened = attempt()
    for _ in range(3):
        opened.post(CHAT, chat_request())
    opened.client.get("/v1/models")
    facts = opened.line.close()
    assert (facts.calls, facts.failed_calls, facts.usage_unknown_calls) == (3, 0, 1)
    assert facts.usage == Usage(fresh_input=150, output=20)
    assert facts.cost_usd is None
    assert facts.first_byte_seconds > 0
    assert 0 < facts.model_seconds < AT_ONCE
    assert opened.line.close() == opened.line.facts() == facts


def test_a_record_that_was_cut_off_is_read_up_to_there(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    opened.post(CHAT, chat_request())
    opened.line.close()
    for name in (CALLS, BODIES):
        with (opened.folder / name).open("ab") as file:
            file.write(b'{"number": 2, "sha')
    assert load_request(opened.folder, load_calls(opened.folder)[0]) == chat_request()


def test_an_agent_that_leaves_at_the_protocols_end_has_heard_everything(attempt, provider):
    chunks = chat_stream("all of it").chunks
    provider.answers = [Scripted([*chunks, FOREVER], type=SSE)]
    opened = attempt()
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        received = b""
        for chunk in answer.iter_raw():
            received += chunk
            if received.endswith(b"[DONE]\n\n"):
                break
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert (call.cut, call.outcome, call.detail, call.text) == (False, None, "", "allofit")


@pytest.mark.parametrize("name", [CALLS, BODIES])
def test_every_line_is_json(attempt, provider, name):
    provider.answers = [chat_stream("€ \x00 \u2028")]
    opened = attempt()
    opened.post(CHAT, chat_request())
    opened.line.close()
    for line in (opened.folder / name).read_bytes().splitlines():
        assert isinstance(orjson.loads(line), dict)
        assert json.loads(line)
