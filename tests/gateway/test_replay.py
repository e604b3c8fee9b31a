"""A recorded run is answered again without a network."""

import json

import httpx
import pytest

from runbook.gateway import Gateway, GatewayError, LineOrder, Wire, load_calls, load_request
from tests.gateway.scripted import CHAT, KEY, SSE, Break, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER


def record(attempt, provider, cassette, exchanges, **order):
    """Record (request, answer) pairs; returns the answers' bytes and the calls."""
    provider.answers = [answer for _, answer in exchanges] + [chat_stream()]
    opened = attempt(order=order, record=cassette, retry_seconds=0)
    try:
        received = [opened.post(CHAT, request).content for request, _ in exchanges]
    finally:
        opened.gateway.close()  # only then all of it is written
    return received, load_calls(opened.folder)


@pytest.fixture
def replay(attempt, provider, tmp_path, monkeypatch):
    """Opens a line that answers from the cassette; neither provider nor key exist any more."""

    def make(**order):
        provider.reset()  # it answers nothing any more
        monkeypatch.delenv("CANARY_KEY")
        return attempt(order=order, replay=tmp_path / "cassette")

    return make


def user(text):
    return {"role": "user", "content": text}


def test_a_run_is_answered_byte_for_byte_and_keeps_its_recorded_times(attempt, provider, replay, tmp_path):
    slow = Scripted([*chat_stream("one two").chunks[:1], 0.3, *chat_stream("one two").chunks[1:]], type=SSE)
    first = chat_request(user("hi"))
    second = chat_request(user("hi"), user("more"))
    received, calls = record(
        attempt, provider, tmp_path / "cassette", [(first, slow), (second, chat_stream("b"))]
    )
    opened = replay()
    assert [opened.post(CHAT, request).content for request in (first, second)] == received
    facts = opened.line.close()
    again = load_calls(opened.folder)
    assert [call.replayed for call in again] == [True, True]
    for name in (
        "usage",
        "text",
        "status",
        "actual_model",
        "first_byte_seconds",
        "last_byte_seconds",
        "response",
    ):
        assert [getattr(call, name) for call in again] == [getattr(call, name) for call in calls]
    assert facts.calls == 2
    assert again[0].last_byte_seconds > 0.3


def test_what_differs_from_run_to_run_does_not_matter(attempt, provider, replay, tmp_path):
    def request(place, session, date):
        said = user(f"It is {date}. Work in {place}/notes. Session {session}.")
        return chat_request(said, prompt_cache_key=session, metadata={"user_id": session})

    before = request("/job/x1", "0b7e2c1e-58b4-4f7a-9d58-6f0b6a4b1c11", "Mon Nov 30 2026, 10:01:02")
    after = request("/other/y22", "7c0e2c1e-58b4-4f7a-9d58-6f0b6a4b1c22", "Tue Dec 1 2026, 11:59:02")
    answer = chat_stream("look into /job/x1/notes")
    record(attempt, provider, tmp_path / "cassette", [(before, answer)], volatile=("/job/x1",))
    opened = replay(volatile=("/other/y22",))
    answered = opened.post(CHAT, after)
    assert answered.status_code == 200
    assert b"/other/y22/notes" in answered.content
    assert b"/job/x1" not in answered.content


def test_equal_requests_are_answered_in_recorded_order_and_not_once_more(attempt, provider, replay, tmp_path):
    request = chat_request()
    pairs = [(request, chat_stream("first")), (request, chat_stream("second"))]
    received, _ = record(attempt, provider, tmp_path / "cassette", pairs)
    opened = replay()
    assert [opened.post(CHAT, request).content for _ in pairs] == received
    refused = opened.post(CHAT, request)
    assert refused.status_code == 400
    assert "recorded 2 times" in refused.json()["error"]["message"]


def test_a_miss_shows_the_nearest_recorded_request_and_the_difference(attempt, provider, replay, tmp_path):
    far = chat_request(user("something else entirely"), user("x"))
    near = chat_request(user("list the haystack"), temperature=0)
    record(attempt, provider, tmp_path / "cassette", [(far, chat_stream()), (near, chat_stream())])
    opened = replay()
    refused = opened.post(CHAT, chat_request(user("list the haystacks"), temperature=0))
    message = refused.json()["error"]["message"]
    assert refused.json()["error"]["code"] == "replay_miss"
    assert "exchange 2 is nearest" in message
    assert "messages[0].content: recorded 'list the haystack'" in message
    facts = opened.line.close()
    assert facts.failure == "provider_error"
    assert "not recorded" in facts.detail


def test_failures_are_replayed_too(attempt, provider, replay, tmp_path):
    limited = Scripted([b'{"error":{"message":"slow"}}'], status=429, headers={"retry-after": "60"})
    pairs = [(chat_request(user("a")), limited), (chat_request(user("b")), Scripted([b"no"], status=401))]
    _, calls = record(attempt, provider, tmp_path / "cassette", pairs)
    opened = replay()
    assert [opened.post(CHAT, request).status_code for request, _ in pairs] == [429, 401]
    opened.line.close()
    outcomes = [call.outcome for call in load_calls(opened.folder)]
    assert outcomes == [call.outcome for call in calls] == ["rate_limited", "auth_error"]


def test_a_stream_that_broke_off_breaks_off_again(attempt, provider, replay, tmp_path):
    with pytest.raises(httpx.RemoteProtocolError):
        record(
            attempt,
            provider,
            tmp_path / "cassette",
            [(chat_request(), Scripted([event(1), 0.05, Break()], type=SSE))],
        )
    opened = replay()
    with pytest.raises(httpx.RemoteProtocolError):
        opened.post(CHAT, chat_request())


@pytest.mark.parametrize("whole", [True, False])
def test_an_agent_that_left_is_kept_waiting_only_where_the_answer_was_not_whole(
    attempt, provider, replay, tmp_path, whole
):
    chunks = chat_stream("all of it").chunks
    said = chunks if whole else chunks[:1]
    provider.answers = [Scripted([*said, FOREVER], type=SSE)]
    opened = attempt(record=tmp_path / "cassette")
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        heard, pieces = b"", answer.iter_raw()
        while heard != b"".join(said):
            heard += next(pieces)
    opened.gateway.close()
    again = replay()
    if whole:
        assert again.post(CHAT, chat_request()).content == b"".join(chunks)
    else:
        with pytest.raises(httpx.ReadTimeout):
            again.post(CHAT, chat_request(), timeout=0.5)


def test_a_recording_holds_no_key(attempt, provider, tmp_path):
    record(attempt, provider, tmp_path / "cassette", [(chat_request(), chat_stream())])
    assert KEY.encode() not in (tmp_path / "cassette").read_bytes()


def test_a_second_run_is_appended_to_a_recording(attempt, provider, replay, tmp_path):
    for name in ("a", "b"):
        record(attempt, provider, tmp_path / "cassette", [(chat_request(user(name)), chat_stream(name))])
    size = (tmp_path / "cassette").stat().st_size
    opened = replay()
    for name in ("a", "b"):
        assert name.encode() in opened.post(CHAT, chat_request(user(name))).content
    assert (tmp_path / "cassette").stat().st_size == size


@pytest.mark.parametrize("content", [b"not a cassette\n", b'{"a":1}\n'])
def test_another_file_is_no_recording(settings_for, tmp_path, content):
    (tmp_path / "cassette").write_bytes(content)
    for settings in ({"replay": tmp_path / "cassette"}, {"record": tmp_path / "cassette"}):
        with pytest.raises(GatewayError, match="cassette:1 is no line of a recording"):
            Gateway(settings_for(**settings)).__enter__()
    assert (tmp_path / "cassette").read_bytes() == content


def test_a_missing_recording_is_said_at_the_start(settings_for, tmp_path):
    with pytest.raises(GatewayError, match="cannot be read"), Gateway(settings_for(replay=tmp_path / "none")):
        pass
    with pytest.raises(GatewayError, match="not both"):
        Gateway(settings_for(replay=tmp_path / "a", record=tmp_path / "b"))


def test_attempts_side_by_side_share_a_recording(settings_for, provider, tmp_path):
    provider.answers = [chat_stream()]
    with Gateway(settings_for(record=tmp_path / "cassette")) as gateway:
        port = gateway.listen_tcp()
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            line = gateway.open_line(LineOrder(tmp_path / name, Wire.OPENAI_CHAT, "m"))
            url = f"http://127.0.0.1:{port}{line.prefix}{CHAT}"
            httpx.post(url, json=chat_request(user(name)), timeout=AT_ONCE)
    provider.reset()
    with Gateway(settings_for(replay=tmp_path / "cassette")) as gateway:
        port = gateway.listen_tcp()
        line = gateway.open_line(LineOrder(tmp_path, Wire.OPENAI_CHAT, "m"))
        url = f"http://127.0.0.1:{port}{line.prefix}{CHAT}"
        answers = [httpx.post(url, json=chat_request(user(name)), timeout=AT_ONCE) for name in "ab"]
        assert [answer.status_code for answer in answers] == [200, 200]


def damaged(lines, change):
    """The recording's lines with the last one, an exchange, changed."""
    exchange = json.loads(lines[-1])
    change(exchange)
    return [*lines[:-1], json.dumps(exchange).encode()]


DAMAGES = {
    "a newer format": (lambda lines: [b'{"cassette":2}', *lines[1:]], "1 tells format 2"),
    "no version": (lambda lines: lines[1:], "1 is no line of a recording"),
    "a part that is another": (
        lambda lines: [lines[0], lines[1].replace(b'"sha256":"', b'"sha256":"0'), *lines[2:]],
        "2 of the recording is damaged",
    ),
    "no parts": (lambda lines: [lines[0], lines[-1]], "2 of the recording is damaged: it names the part"),
    "a field by another name": (
        lambda lines: damaged(lines, lambda it: it.update(tries=it.pop("retries"))),
        "retries: Field required",
    ),
    "negative cuts": (lambda lines: damaged(lines, lambda it: it.update(cuts=[[0, -5]])), "cuts.0.1"),
    "cuts beyond": (lambda lines: damaged(lines, lambda it: it["cuts"].append([9, 5])), "do not add up"),
    "a header in a header": (
        lambda lines: damaged(lines, lambda it: it["headers"].append(["x", "a\r\nb: c"])),
        "headers",
    ),
    "a header of no latin-1": (
        lambda lines: damaged(lines, lambda it: it["headers"].append(["x", "\u2603"])),
        "headers",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_recording_is_refused_at_the_start(attempt, provider, settings_for, tmp_path, name):
    cassette = tmp_path / "cassette"
    record(attempt, provider, cassette, [(chat_request(), chat_stream())])
    change, message = DAMAGES[name]
    cassette.write_bytes(b"\n".join(change(cassette.read_bytes().splitlines())) + b"\n")
    with pytest.raises(
        GatewayError, match=r"cassette:\d+ .*" + message.removeprefix("1 ").removeprefix("2 ")
    ):
        Gateway(settings_for(replay=cassette)).__enter__()


def test_recording_goes_on_after_a_line_that_was_cut_off(provider, settings_for, replay, tmp_path):
    cassette = tmp_path / "cassette"
    one, two = chat_request(user("1")), chat_request(user("2"))

    def run(request) -> bytes:
        provider.answers = [chat_stream("a")]
        with Gateway(settings_for(record=cassette)) as gateway:
            line = gateway.open_line(LineOrder(tmp_path, Wire.OPENAI_CHAT, "m"))
            url = f"http://127.0.0.1:{gateway.listen_tcp()}{line.prefix}{CHAT}"
            return httpx.post(url, json=request, timeout=AT_ONCE).content

    run(one)
    whole = cassette.read_bytes()
    run(two)
    cassette.write_bytes(cassette.read_bytes()[:-40])
    assert cassette.read_bytes().startswith(whole)
    received = run(two)
    opened = replay()
    assert opened.post(CHAT, two).content == received
    assert opened.post(CHAT, one).status_code == 200


def test_a_record_of_calls_goes_on_after_a_line_that_was_cut_off(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    for text in "ab":
        opened.post(CHAT, chat_request(user(text * 300)))
    opened.line.close()
    for name in ("model_calls.jsonl", "model_bodies.jsonl"):
        path = opened.folder / name
        path.write_bytes(path.read_bytes()[:-10])
    again = attempt(order={"folder": opened.folder})
    again.post(CHAT, chat_request(user("c" * 300)))
    again.line.close()
    calls = load_calls(opened.folder)
    assert [call.number for call in calls] == [1, 2]
    assert load_request(opened.folder, calls[1])["messages"][0]["content"] == "c" * 300


def test_a_record_of_calls_that_is_none_is_said(attempt, tmp_path):
    (tmp_path / "model_calls.jsonl").write_bytes(b'{"number":"x"}\n')
    with pytest.raises(GatewayError, match=r"the record of model calls in .* is damaged"):
        attempt(order={"folder": tmp_path})
