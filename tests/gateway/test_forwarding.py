"""What passes, and how: byte for byte, as it arrives, with the real key and without the agent's own."""

import threading
import zlib

import httpx
import pytest

from runbook.gateway import Wire, load_calls
from tests.gateway.scripted import CHAT, KEY, SSE, Break, Scripted, chat_request, chat_stream, event
from tests.waiting import FOREVER, wait_for

PATHS = {
    Wire.OPENAI_RESPONSES: "/v1/responses",
    Wire.OPENAI_CHAT: CHAT,
    Wire.ANTHROPIC_MESSAGES: "/v1/messages?beta=true",
    Wire.GEMINI: "/v1beta/models/m:streamGenerateContent?alt=sse",
}


@pytest.mark.parametrize("wire", Wire)
def test_every_wire_passes_byte_for_byte(attempt, provider, wire):
    chunks = [b'event: x\ndata: {"a":', b"1}\r\n\r\n", ": ping €\n\n".encode()]
    provider.answers = [Scripted(chunks, type=SSE, headers={"x-request-id": "r1"})]
    answer = attempt(wire).post(PATHS[wire], {"model": "m"})
    assert answer.content == b"".join(chunks)
    assert answer.headers["x-request-id"] == "r1"
    assert provider.asked[0].json == {"model": "m"}


def test_chunks_arrive_while_the_provider_is_still_speaking(attempt, provider):
    go_on = threading.Event()
    provider.answers = [Scripted([event(1), go_on, event(2)], type=SSE)]
    with attempt().client.stream("POST", CHAT, json=chat_request()) as answer:
        chunks = answer.iter_raw()
        assert next(chunks) == event(1)
        go_on.set()
        assert list(chunks) == [event(2)]


@pytest.mark.parametrize(
    ("wire", "header", "value"),
    [
        (Wire.OPENAI_CHAT, "authorization", f"Bearer {KEY}"),
        (Wire.OPENAI_RESPONSES, "authorization", f"Bearer {KEY}"),
        (Wire.ANTHROPIC_MESSAGES, "x-api-key", KEY),
        (Wire.GEMINI, "x-goog-api-key", KEY),
    ],
)
def test_the_key_is_put_in_and_the_agents_own_credentials_are_dropped(attempt, provider, wire, header, value):
    provider.answers = [Scripted([b"{}"])]
    own = {"authorization": "Bearer mine", "x-api-key": "mine", "x-goog-api-key": "mine", "cookie": "mine"}
    path = PATHS[wire] + ("&" if "?" in PATHS[wire] else "?") + "key=mine"
    attempt(wire).post(path, {"model": "m"}, headers={**own, "anthropic-beta": "tools"})
    seen = provider.asked[0]
    assert seen.headers[header] == value
    assert "mine" not in str(seen.headers) + seen.path
    assert seen.headers["anthropic-beta"] == "tools"


def test_the_provider_is_asked_for_bytes_that_can_be_read(attempt, provider):
    provider.answers = [Scripted([b"{}"])]
    attempt().post(CHAT, chat_request(), headers={"accept-encoding": "gzip, br"})
    assert provider.asked[0].headers["accept-encoding"] == "identity"


def test_an_answer_compressed_all_the_same_passes_and_is_read(attempt, provider):
    packed = zlib.compress(b"".join(chat_stream("hello").chunks), wbits=31)
    provider.answers = [Scripted([packed], type=SSE, headers={"content-encoding": "gzip"})]
    opened = attempt()
    assert opened.post(CHAT, chat_request()).content == b"".join(chat_stream("hello").chunks)
    opened.line.close()
    assert load_calls(opened.folder)[0].text == "hello"


@pytest.mark.parametrize("status", [600, 999])
def test_a_status_that_is_none_is_a_bad_gateway(attempt, provider, status):
    provider.answers = [Scripted([b"{}"], status=status)]
    opened = attempt(retry_seconds=0)
    assert opened.post(CHAT, chat_request()).status_code == 502
    opened.line.close()
    assert load_calls(opened.folder)[0].outcome == "provider_error"


@pytest.mark.parametrize(
    "body", [b'{"model":"other","model":"m"}', b'{"model":"m","a":[{"b":1,"\\u0062":2}]}']
)
def test_a_name_that_stands_twice_is_refused(attempt, provider, body):
    refused = attempt().client.post(CHAT, content=body)
    assert refused.status_code == 400
    assert "twice" in refused.json()["error"]["message"]
    assert provider.asked == []


def test_the_path_that_was_checked_is_the_one_that_is_sent(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt()
    assert opened.client.post("/v1%2Fchat%2fcompletions", json=chat_request()).status_code == 200
    assert opened.client.post("/v1%252Fchat/completions", json=chat_request()).status_code == 404
    assert [asked.path for asked in provider.asked] == [CHAT]


def test_headers_that_could_mean_more_than_the_request_stay(attempt, provider):
    provider.answers = [chat_stream()]
    sent = {"x-http-method-override": "DELETE", "x-goog-authenticated-user": "a", "openai-beta": "b"}
    attempt().post(
        CHAT, chat_request(), headers={**sent, "x-stainless-lang": "js", "connection": "openai-beta"}
    )
    seen = provider.asked[0].headers
    assert seen["x-stainless-lang"] == "js"
    assert not seen.keys() & sent.keys()


def test_a_compressed_request_is_read_and_sent_on_plain(attempt, provider):
    provider.answers = [Scripted([b"{}"])]
    packed = zlib.compress(b'{"model":"m"}', wbits=31)
    opened = attempt()
    opened.client.post(CHAT, content=packed, headers={"content-encoding": "gzip"})
    assert provider.asked[0].json == {"model": "m"}
    refused = opened.client.post(CHAT, content=packed, headers={"content-encoding": "zstd"})
    assert refused.status_code == 400
    assert "not as zstd" in refused.json()["error"]["message"]


def test_a_stream_that_breaks_off_breaks_off_at_the_agent(attempt, provider):
    provider.answers = [Scripted([event({"choices": []}), 0.05, Break()], type=SSE)]
    opened = attempt()
    with pytest.raises(httpx.RemoteProtocolError):
        opened.post(CHAT, chat_request())
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert (call.cut, call.outcome) == (True, "provider_error")


def test_a_model_list_and_a_probe_pass_and_generate_nothing(attempt, provider):
    provider.answers = [Scripted([b'{"data":[]}'])]
    opened = attempt()
    assert opened.client.get("/v1/models").json() == {"data": []}
    assert opened.client.head("").status_code == 200
    assert [asked.path for asked in provider.asked] == ["/v1/models"]
    assert opened.line.close().calls == 0


def test_tokens_are_counted_without_generating(attempt, provider):
    provider.answers = [Scripted([b'{"input_tokens":3}'])]
    opened = attempt(Wire.ANTHROPIC_MESSAGES)
    assert opened.post("/v1/messages/count_tokens", {"model": "m"}).json() == {"input_tokens": 3}
    assert opened.line.close().calls == 0


REFUSALS = [
    (Wire.OPENAI_CHAT, "/v1/embeddings", {"model": "m"}, 404, "path_not_allowed"),
    (Wire.OPENAI_RESPONSES, "/v1/files", {"model": "m"}, 404, "path_not_allowed"),
    (Wire.OPENAI_CHAT, CHAT, {"model": "other"}, 400, "model_not_allowed"),
    (Wire.OPENAI_CHAT, CHAT, [1], 400, "unreadable"),
    (Wire.ANTHROPIC_MESSAGES, "/v1/messages", {"model": "other"}, 400, "model_not_allowed"),
    (Wire.ANTHROPIC_MESSAGES, "/v1/messages/batches", {"model": "m"}, 404, "path_not_allowed"),
    (Wire.GEMINI, "/v1beta/models/other:generateContent", {}, 400, "model_not_allowed"),
    (Wire.GEMINI, "/v1beta/models/m:embedContent", {}, 404, "path_not_allowed"),
    (Wire.GEMINI, "/v1beta/models/..%2Fx:generateContent", {}, 400, "model_not_allowed"),
]


@pytest.mark.parametrize(("wire", "path", "body", "status", "code"), REFUSALS)
def test_everything_else_is_refused_in_the_providers_own_shape(
    attempt, provider, wire, path, body, status, code
):
    answer = attempt(wire).post(path, body)
    assert answer.status_code == status
    assert answer.headers["x-should-retry"] == "false"
    error = answer.json()["error"]
    assert code in error["message"]
    shape = {
        Wire.ANTHROPIC_MESSAGES: {"type", "message"},
        Wire.GEMINI: {"code", "message", "status"},
    }.get(wire, {"message", "type", "param", "code"})
    assert set(error) == shape
    assert provider.asked == []


def test_a_request_that_is_too_large_is_refused_before_it_fills_the_memory(attempt, provider):
    packer = zlib.compressobj(1, wbits=31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(66)) + packer.flush()
    opened = attempt()
    answer = opened.client.post(CHAT, content=bomb, headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert provider.asked == []


def test_a_websocket_is_refused(attempt, provider):
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    answer = attempt(Wire.OPENAI_RESPONSES).client.get("/v1/responses", headers=upgrade)
    assert answer.status_code == 404


def test_listed_models_pass_too(attempt, provider):
    provider.answers = [chat_stream()]
    opened = attempt(order={"models": ("small",)}, allowed_models=("judge",), mismatch="allow")
    for model in ("m", "small", "judge"):
        assert opened.post(CHAT, {**chat_request(), "model": model}).status_code == 200


def test_a_line_serves_nobody_who_does_not_know_its_prefix(attempt, provider):
    opened = attempt()
    for path in ("/", CHAT, "/openai/v1/chat/completions", "/x/scripted" + CHAT):
        transport = httpx.HTTPTransport(uds=str(opened.line.socket), verify=False)
        with httpx.Client(transport=transport, base_url="http://agent") as stranger:
            assert stranger.post(path, json=chat_request()).status_code == 404
    assert provider.asked == []


def test_an_agent_that_goes_away_stops_the_provider(attempt, provider):
    provider.answers = [Scripted([event(1), *[0.02, event(2)] * (FOREVER * 50)], type=SSE)]
    opened = attempt()
    with opened.client.stream("POST", CHAT, json=chat_request()) as answer:
        next(answer.iter_raw())
    wait_for(lambda: not provider.open)
    assert provider.broken_pipes == 1
    opened.line.close()
    call = load_calls(opened.folder)[0]
    assert (call.cut, call.outcome, call.detail) == (True, None, "the agent went away")


def test_an_agent_that_goes_away_before_the_answer_stops_the_provider(attempt, provider):
    provider.answers = [Scripted([b"{}"], before=FOREVER)]
    opened = attempt()
    opened.ask_and_leave(provider, CHAT, chat_request())
    wait_for(lambda: opened.line.facts().calls == 1)
    opened.line.close()
    assert load_calls(opened.folder)[0].status is None
