"""What one attempt can take of the gateway is bounded, so that it harms no other attempt."""

import gzip
import json
import threading
import time
from contextlib import suppress

import httpx
import pytest

from runbook.gateway import (
    Gateway,
    GatewayError,
    LineOrder,
    ModelCall,
    Wire,
    forwarding,
    line,
    load_calls,
    load_request,
)
from runbook.gateway.bodies import BODIES
from runbook.gateway.connections import LARGEST_HEAD, MOST_CONNECTIONS
from runbook.gateway.recorder import Recorder
from runbook.gateway.wires import anthropic, openai_chat, openai_responses
from tests.gateway.scripted import CHAT, SSE, Scripted, chat_request, chat_stream, event
from tests.waiting import AT_ONCE, FOREVER, wait_for

LETTERS = "a" * 50


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_a_refused_body_is_not_kept(attempt):
    opened = attempt()
    answer = opened.post(CHAT, {**chat_request({"content": "secret " * 1000}), "model": "other"})
    opened.line.close()
    (call,) = load_calls(opened.folder)
    assert (answer.status_code, call.outcome, call.request) == (400, "model_mismatch", [])
    assert b"secret" not in (opened.folder / BODIES).read_bytes()
    assert (opened.folder / BODIES).stat().st_size < 1000


def test_a_refused_name_is_kept_in_short(attempt):
    opened = attempt()
    opened.post(CHAT, {**chat_request(), "model": "x" * 1_000_000})
    opened.client.get("/" + "y" * 10_000)
    opened.line.close()
    assert sum(file.stat().st_size for file in opened.folder.iterdir()) < 5000


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","a":[' + b"{}," * 2_000_000 + b"1]}",
        b'{"model":"m","a":[' + b"1," * 300_000 + b"1]}",
        b'{"model":"m","a":"' + b"a" * 60_000_000 + b'"}',
    ],
    ids=["many objects", "many numbers", "dense"],
)
def test_a_small_body_that_grows_large_is_refused_at_once(attempt, provider, body):
    opened = attempt()
    headers = {"content-encoding": "gzip"}
    content = gzip.compress(body, 1)
    began = time.process_time()
    answer = opened.client.post(CHAT, content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    opened.line.close()
    assert time.process_time() - began < 10
    assert provider.asked == []


def test_open_requests_take_only_so_much_memory(attempt, provider, monkeypatch):
    monkeypatch.setattr(line, "LARGEST_HELD", 100_000)
    go_on = threading.Event()
    provider.answers = [Scripted(chat_stream().chunks, type=SSE, before=go_on), chat_stream()]
    opened = attempt()
    request = chat_request({"role": "user", "content": "a" * 60_000})
    first = threading.Thread(target=opened.post, args=(CHAT, request))
    first.start()
    wait_for(lambda: provider.asked)
    assert opened.post(CHAT, request).status_code == 413
    go_on.set()
    first.join()
    assert opened.post(CHAT, request).status_code == 200


def test_what_ended_but_is_not_yet_written_down_is_waited_for(attempt, provider, monkeypatch):
    record = Recorder.record

    def slowly(self, exchange):
        time.sleep(0.3)
        return record(self, exchange)

    monkeypatch.setattr(line, "LARGEST_HELD", 100_000)
    monkeypatch.setattr(Recorder, "record", slowly)
    provider.answers = [chat_stream()] * 3
    opened = attempt()
    request = chat_request({"role": "user", "content": "a" * 60_000})
    assert [opened.post(CHAT, request).status_code for _ in range(3)] == [200, 200, 200]


def test_refusals_without_end_end_the_attempt_and_are_not_all_kept(attempt, monkeypatch):
    monkeypatch.setattr(line, "MOST_REFUSALS", 5)
    opened = attempt()
    for _ in range(10):
        opened.client.get("/elsewhere")
    assert "no calls of a model" in opened.line.over_budget()
    assert opened.line.close().failure == "budget_exceeded"
    assert len(load_calls(opened.folder)) == 5


def test_only_so_many_connections_are_open(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    held = [opened.connect() for _ in range(MOST_CONNECTIONS)]
    with pytest.raises(httpx.TransportError):
        opened.post(CHAT, chat_request())
    for connection in held:
        connection.close()

    def answered() -> bool:
        with suppress(httpx.TransportError):  # the gateway has not heard of it yet
            return opened.post(CHAT, chat_request()).status_code == 200
        return False

    wait_for(answered)


@pytest.mark.parametrize(
    "start",
    [
        b"GET %b/v1/models HTTP/1.1\r\nx: ",
        b"GET %b/",
        b"POST %b/v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: ",
    ],
    ids=["header", "path", "trailer"],
)
def test_a_head_without_end_is_cut_off(attempt, start):
    opened = attempt()
    with opened.connect() as connection, pytest.raises((BrokenPipeError, ConnectionResetError)):
        connection.sendall(start % opened.line.prefix.encode())
        for _ in range(500):
            connection.sendall(b"a" * LARGEST_HEAD)


def test_a_head_that_comes_in_one_piece_is_bounded_too(attempt):
    opened = attempt()
    answer = opened.client.get("/v1/models", headers={"x": "a" * LARGEST_HEAD})
    assert answer.status_code == 400


def test_a_deep_request_is_passed_on_and_kept_as_it_came(attempt, provider):
    provider.answers = [chat_stream()]
    body = b'{"model":"m","messages":[],"deep":' + nested(600) + b"}"
    opened = attempt()
    assert opened.client.post(CHAT, content=body).status_code == 200
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert provider.asked[0].body == load_request(opened.folder, call) == body


def test_a_deep_request_is_found_in_a_recording(provider, settings_for, tmp_path):
    provider.answers = [chat_stream()]
    body = b'{"model":"m","messages":[],"deep":' + nested(600) + b"}"
    for mode in ("record", "replay"):
        (tmp_path / mode).mkdir()
        with Gateway(settings_for(**{mode: tmp_path / "tape"})) as gateway:
            opened = gateway.open_line(LineOrder(tmp_path / mode, Wire.OPENAI_CHAT, "m"))
            transport = httpx.HTTPTransport(uds=str(opened.socket), verify=False)
            address = f"http://agent{opened.prefix}"
            with httpx.Client(transport=transport, base_url=address, timeout=AT_ONCE) as client:
                assert client.post(CHAT, content=body).status_code == 200
    assert len(provider.asked) == 1


def test_deep_tool_arguments_are_kept_as_text(attempt, provider):
    call = b'{"index":0,"id":"c","function":{"name":"f","arguments":' + nested(400) + b"}}"
    delta = (
        b'data: {"model":"m","choices":[{"delta":{"tool_calls":[' + call + b']},"finish_reason":"stop"}]}\n\n'
    )
    provider.answers = [Scripted([delta], type=SSE)]
    opened = attempt()
    opened.post(CHAT, chat_request())
    opened.line.close()
    (said,) = load_calls(opened.folder)[0].tool_calls
    assert json.loads(said.arguments) == json.loads(nested(400))


def test_an_answer_without_end_is_broken_off(attempt, provider, monkeypatch):
    monkeypatch.setattr(forwarding, "LARGEST_ANSWER", 100_000)
    provider.answers = [Scripted([event("a" * 1000)] * 1000, type=SSE)]
    opened = attempt()
    with pytest.raises(httpx.RemoteProtocolError):
        opened.post(CHAT, chat_request())
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert (call.cut, call.outcome) == (True, "provider_error")
    assert "grew beyond" in call.detail


def test_an_error_is_read_only_so_far(attempt, provider):
    provider.answers = [Scripted([b"a" * 2**20] * 3, status=500)]
    opened = attempt(retry_seconds=0)
    answer = opened.post(CHAT, chat_request())
    assert (answer.status_code, len(answer.content)) == (500, 2**20)


@pytest.mark.parametrize(
    ("module", "piece"),
    [
        (openai_chat, {"choices": [{"delta": {"content": LETTERS}}]}),
        (
            openai_chat,
            {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": LETTERS}, "index": 0}]}}]},
        ),
        (openai_responses, {"type": "response.output_text.delta", "output_index": 0, "delta": LETTERS}),
        (anthropic, {"type": "content_block_delta", "index": 0, "delta": {"text": LETTERS}}),
    ],
)
def test_an_answer_in_many_pieces_is_read_in_linear_time(module, piece):
    body = event(piece) * 100_000
    began = time.process_time()
    reading = module.read_response(body, SSE, {})
    assert time.process_time() - began < 20  # copying all that it has with every piece takes a minute
    said = reading.text or reading.tool_calls[0].arguments
    assert len(said) == 5_000_000


def test_closing_waits_only_so_long_for_the_record_and_others_go_on(attempt, provider, monkeypatch):
    provider.answers = [chat_stream()]
    slow, other = attempt(), attempt()
    record, go_on = slow.line._recorder.record, threading.Event()

    def late(exchange) -> ModelCall:
        go_on.wait(FOREVER)
        return record(exchange)

    monkeypatch.setattr(slow.line._recorder, "record", late)
    slow.post(CHAT, chat_request())
    assert [other.post(CHAT, chat_request()).status_code for _ in range(2)] == [200, 200]
    began = time.monotonic()
    try:
        with monkeypatch.context() as hurried:
            hurried.setattr(line, "_CLOSING_SECONDS", 0.3)
            with pytest.raises(GatewayError, match="is incomplete: 1 requests could not be written down"):
                slow.line.close()
        assert time.monotonic() - began < AT_ONCE
        assert other.line.close().calls == 2
    finally:
        go_on.set()


def test_a_call_that_cannot_be_described_is_still_recorded(attempt, provider, monkeypatch):
    def surprised(*_: object) -> None:
        raise KeyError("new field")

    monkeypatch.setattr(openai_chat, "read_response", surprised)
    provider.answers = [chat_stream()]
    opened = attempt()
    opened.post(CHAT, chat_request())
    assert opened.line.close().calls == 1
    call = load_calls(opened.folder)[0]
    assert (call.outcome, call.detail) == ("provider_error", "the answer could not be read (KeyError)")
    assert load_request(opened.folder, call) == chat_request()
